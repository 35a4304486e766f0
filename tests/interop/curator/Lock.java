import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** One of Curator's recipes on a path, by the kind that Actor is told; its own thread's alone, as Curator's are. */
interface Lock {
  /** Waits for ever without a limit. */
  boolean acquire(Long withinMs) throws Exception;

  void release() throws Exception;

  /** Nodes in the order in which they are served. */
  Collection<String> participants() throws Exception;

  void visit(Witness witness) throws Exception;

  static Lock of(CuratorFramework curator, String kind, String path) {
    if (kind.startsWith("permit/")) {
      return new Permit(curator, path, Integer.parseInt(kind.substring("permit/".length())));
    }
    return switch (kind) {
      case "exclusive" -> new Alone(curator, new InterProcessMutex(curator, path));
      case "write" -> new Alone(curator, new InterProcessReadWriteLock(curator, path).writeLock());
      case "read" -> new Shared(new InterProcessReadWriteLock(curator, path).readLock());
      case "latch" -> new Latch(curator, path);
      case "semaphore" -> new SemaphoreMutex(new InterProcessSemaphoreMutex(curator, path));
      default -> throw new IllegalArgumentException(kind);
    };
  }

  static boolean acquire(InterProcessLock lock, Long withinMs) throws Exception {
    if (withinMs != null) return lock.acquire(withinMs, TimeUnit.MILLISECONDS);
    lock.acquire();
    return true;
  }

  record Alone(CuratorFramework curator, InterProcessMutex lock) implements Lock {
    public boolean acquire(Long withinMs) throws Exception {
      return Lock.acquire(lock, withinMs);
    }

    public void release() throws Exception {
      lock.release();
    }

    public Collection<String> participants() throws Exception {
      return lock.getParticipantNodes();
    }

    /** The token is what a Java service would fence with: the transaction that made the holder's node. */
    public void visit(Witness witness) throws Exception {
      final String held = participants().iterator().next();
      witness.visitAlone(curator.checkExists().forPath(held).getCzxid());
    }
  }

  record Shared(InterProcessMutex lock) implements Lock {
    public boolean acquire(Long withinMs) throws Exception {
      return Lock.acquire(lock, withinMs);
    }

    public void release() throws Exception {
      lock.release();
    }

    public Collection<String> participants() throws Exception {
      return lock.getParticipantNodes();
    }

    public void visit(Witness witness) {
      witness.visitShared();
    }
  }

  /** A leader latch is used once: each term has one of its own. Its participants are ids, not nodes. */
  final class Latch implements Lock {
    private final CuratorFramework curator;
    private final String path;
    private LeaderLatch latch;

    Latch(CuratorFramework curator, String path) {
      this.curator = curator;
      this.path = path;
      this.latch = new LeaderLatch(curator, path, "java");
    }

    public boolean acquire(Long withinMs) throws Exception {
      latch.start();
      if (withinMs == null) {
        latch.await();
        return true;
      }
      if (latch.await(withinMs, TimeUnit.MILLISECONDS)) return true;
      release();
      return false;
    }

    public void release() throws Exception {
      latch.close();
      latch = new LeaderLatch(curator, path, "java");
    }

    public Collection<String> participants() throws Exception {
      final List<String> ids = new ArrayList<>();
      for (Participant each : latch.getParticipants()) {
        final String id = URLEncoder.encode(each.getId(), StandardCharsets.UTF_8);
        ids.add(each.isLeader() ? id + "=leader" : id);
      }
      return ids;
    }

    public void visit(Witness witness) throws Exception {
      final String first =
          curator.getChildren().forPath(path).stream()
              .min(Comparator.comparing((String node) -> node.substring(node.lastIndexOf('-'))))
              .orElseThrow();
      witness.visitAlone(curator.checkExists().forPath(path + "/" + first).getCzxid());
    }
  }

  record SemaphoreMutex(InterProcessSemaphoreMutex lock) implements Lock {
    public boolean acquire(Long withinMs) throws Exception {
      return Lock.acquire(lock, withinMs);
    }

    public void release() throws Exception {
      lock.release();
    }

    public Collection<String> participants() {
      return List.of();
    }

    public void visit(Witness witness) {
      witness.visitPermit(1);
    }
  }

  final class Permit implements Lock {
    private final InterProcessSemaphoreV2 semaphore;
    private final int capacity;
    private final List<Lease> leases = new ArrayList<>();

    Permit(CuratorFramework curator, String path, int capacity) {
      this.semaphore = new InterProcessSemaphoreV2(curator, path, capacity);
      this.capacity = capacity;
    }

    public boolean acquire(Long withinMs) throws Exception {
      final Lease lease =
          withinMs == null ? semaphore.acquire() : semaphore.acquire(withinMs, TimeUnit.MILLISECONDS);
      if (lease != null) leases.add(lease);
      return lease != null;
    }

    public void release() {
      semaphore.returnLease(leases.remove(0));
    }

    public Collection<String> participants() throws Exception {
      return semaphore.getParticipantNodes();
    }

    public void visit(Witness witness) {
      witness.visitPermit(capacity);
    }
  }
}
