import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The witness of tests/support/witness.hpp, step for step, in the same page. */
final class Witness {
  // Where in its page.
  private static final int WRITERS = 0;
  private static final int READERS = 8;
  private static final int PERMITS = 16;
  private static final int LAST_TOKEN = 24;
  private static final int FRAGILE_COUNT = 32;
  private static final int COUNT = 40;
  private static final int OVERLAPS = 48;
  private static final int SIZE = 56;

  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private final ByteBuffer page;

  Witness(String path) throws IOException {
    try (FileChannel file =
        FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      page = file.map(FileChannel.MapMode.READ_WRITE, 0, SIZE);
    }
  }

  private long get(int place) {
    return (long) LONGS.getVolatile(page, place);
  }

  private long add(int place, long more) {
    return (long) LONGS.getAndAdd(page, place, more) + more;
  }

  private void require(boolean good) {
    if (!good) add(OVERLAPS, 1);
  }

  private static void linger() {
    for (int turn = 0; turn < 3; ++turn) Thread.yield();
  }

  void visitAlone(long token) {
    require((long) LONGS.getAndSet(page, LAST_TOKEN, token) < token);
    require(get(READERS) == 0);
    add(WRITERS, 1);
    final long seen = get(FRAGILE_COUNT);
    linger();
    LONGS.setVolatile(page, FRAGILE_COUNT, seen + 1);
    add(WRITERS, -1);
    require(get(LAST_TOKEN) == token && get(READERS) == 0);
    add(COUNT, 1);
  }

  void visitShared() {
    add(READERS, 1);
    require(get(WRITERS) == 0);
    linger();
    require(get(WRITERS) == 0);
    add(READERS, -1);
    add(COUNT, 1);
  }

  void visitPermit(long capacity) {
    require(add(PERMITS, 1) <= capacity);
    linger();
    add(PERMITS, -1);
    add(COUNT, 1);
  }
}
