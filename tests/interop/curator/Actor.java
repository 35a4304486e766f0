import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;

/**
 * Curator's locks, told what to do by lines on standard input, as tests/actor is; it ends with its input.
 * ../kazoo_actor.py takes the same lines.
 *
 * <pre>
 * open HOST:PORT[,HOST:PORT]… [timeout=MS]    -> open                   auth=USER:PASSWORD: logged in by digest
 * lock KIND PATH [within=MS]                  -> locked | refused       KIND: exclusive, read, write, permit/CAPACITY,
 *                                                semaphore: Curator's mutex that no thread owns, latch: LeaderLatch
 * unlock                                      -> unlocked | failed TEXT      the lock that was taken last
 * downgrade PATH                              -> downgraded             a write lock is taken, and a read lock kept
 * participants KIND PATH                      -> participants NODE…     in their order; of a latch ID[=leader]…
 * contend KIND PATH WITNESS MILLISECONDS        -> contended TURNS          lock, visit, unlock; until it was inside three
 *                                                                       times, and for as long as this at least
 * revocable PATH                              -> locked                 an InterProcessMutex that listens for revocations
 * revocation                                  -> revoked                waits until its listener is called, for a minute
 *                                             -> not revoked
 * revoke PATH                                 -> revoking               by Revoker: the first participant of the mutex
 * tree PATH                                   -> tree PATH=DATA… | tree none     all below it too, by name
 * create PATH [DATA]                          -> created                with an ACL for us alone: private
 * container PATH                              -> created
 * </pre>
 */
public final class Actor {
  private CuratorFramework curator;
  private Lock held;
  private final CountDownLatch revoked = new CountDownLatch(1);

  private static String option(List<String> arguments, String key, String otherwise) {
    for (String argument : arguments) {
      if (argument.startsWith(key + "=")) return argument.substring(key.length() + 1);
    }
    return otherwise;
  }

  private String open(List<String> arguments) throws Exception {
    final var builder =
        CuratorFrameworkFactory.builder()
            .connectString(arguments.get(1))
            .sessionTimeoutMs(Integer.parseInt(option(arguments, "timeout", "10000")))
            .retryPolicy(new RetryForever(50));
    final String auth = option(arguments, "auth", null);
    if (auth != null) builder.authorization("digest", auth.getBytes(StandardCharsets.UTF_8));
    curator = builder.build();
    curator.start();
    return curator.blockUntilConnected(60, TimeUnit.SECONDS) ? "open" : "failed to connect";
  }

  private String lock(List<String> arguments) throws Exception {
    final String within = option(arguments, "within", null);
    final var lock = Lock.of(curator, arguments.get(1), arguments.get(2));
    if (!lock.acquire(within == null ? null : Long.valueOf(within))) return "refused";
    held = lock;
    return "locked";
  }

  private String unlock() throws Exception {
    held.release();
    return "unlocked";
  }

  /** Curator's own way: the writer reads too, then writes no longer. */
  private String downgrade(String path) throws Exception {
    final var both = new InterProcessReadWriteLock(curator, path);
    both.writeLock().acquire();
    both.readLock().acquire();
    both.writeLock().release();
    held = new Lock.Shared(both.readLock());
    return "downgraded";
  }

  private String participants(String kind, String path) throws Exception {
    final var answer = new StringBuilder("participants");
    for (String node : Lock.of(curator, kind, path).participants()) {
      answer.append(' ').append(node.substring(node.lastIndexOf('/') + 1));
    }
    return answer.toString();
  }

  private String contend(String kind, String path, String place, long milliseconds) throws Exception {
    final var witness = new Witness(place);
    final var lock = Lock.of(curator, kind, path);
    final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(milliseconds);
    long turns = 0;
    for (; turns < 3 || System.nanoTime() < end; ++turns) {
      lock.acquire(null);
      lock.visit(witness);
      lock.release();
    }
    return "contended " + turns;
  }

  private String lockRevocable(String path) throws Exception {
    final var lock = new InterProcessMutex(curator, path);
    lock.makeRevocable(whole -> revoked.countDown());
    lock.acquire();
    held = new Lock.Alone(curator, lock);
    return "locked";
  }

  private String revoke(String path) throws Exception {
    Revoker.attemptRevoke(curator, Lock.of(curator, "exclusive", path).participants().iterator().next());
    return "revoking";
  }

  private void below(String path, StringBuilder answer) throws Exception {
    final byte[] data = curator.getData().forPath(path);
    final String text = data == null ? "" : new String(data, StandardCharsets.UTF_8);
    answer.append(' ').append(path).append('=');
    answer.append(URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20"));
    for (String child : new TreeSet<>(curator.getChildren().forPath(path))) {
      try {
        below(path.equals("/") ? path + child : path + "/" + child, answer);
      } catch (KeeperException.NoNodeException gone) {
        continue; // meanwhile
      }
    }
  }

  private String tree(String path) throws Exception {
    final var answer = new StringBuilder("tree");
    try {
      below(path, answer);
    } catch (KeeperException.NoNodeException none) {
      return "tree none";
    }
    return answer.toString();
  }

  private String create(List<String> arguments, CreateMode mode) throws Exception {
    final boolean ours = arguments.contains("private");
    final byte[] data = arguments.size() > 2 ? arguments.get(2).getBytes(StandardCharsets.UTF_8) : new byte[0];
    final var acl = ours ? ZooDefs.Ids.CREATOR_ALL_ACL : ZooDefs.Ids.OPEN_ACL_UNSAFE;
    curator.create().withMode(mode).withACL(acl).forPath(arguments.get(1), data);
    return "created";
  }

  private String perform(List<String> arguments) throws Exception {
    return switch (arguments.get(0)) {
      case "open" -> open(arguments);
      case "lock" -> lock(arguments);
      case "unlock" -> unlock();
      case "downgrade" -> downgrade(arguments.get(1));
      case "participants" -> participants(arguments.get(1), arguments.get(2));
      case "contend" -> contend(arguments.get(1), arguments.get(2), arguments.get(3), Long.parseLong(arguments.get(4)));
      case "revocable" -> lockRevocable(arguments.get(1));
      case "revocation" -> revoked.await(60, TimeUnit.SECONDS) ? "revoked" : "not revoked";
      case "revoke" -> revoke(arguments.get(1));
      case "tree" -> tree(arguments.get(1));
      case "create" -> create(arguments, CreateMode.PERSISTENT);
      case "container" -> create(arguments, CreateMode.CONTAINER);
      default -> throw new IllegalArgumentException(arguments.get(0));
    };
  }

  public static void main(String[] none) throws Exception {
    final var self = new Actor();
    final var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = lines.readLine()) != null;) {
      String answer;
      try {
        answer = self.perform(List.of(line.trim().split("\\s+")));
      } catch (Exception refused) {
        answer = "failed " + refused;
      }
      System.out.println(answer);
    }
    if (self.curator != null) self.curator.close();
  }
}
