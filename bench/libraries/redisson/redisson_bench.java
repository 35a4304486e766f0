// What Redisson's locks cost: the figures of `holdfast bench`, and a client to be told what to lock.
//
//     java -cp JARS:CLASSES RedissonBench KIND pair    URL [COUNT]     one thread, one free name
//     java -cp JARS:CLASSES RedissonBench KIND handoff URL [SECONDS]   two processes with one thread each, one name
//     java -cp JARS:CLASSES RedissonBench KIND actor   URL TTL_MS      takes the lines of bench/lock_actor.cpp
//
// KIND: lock (RLock) or fair (getFairLock). URL: redis://HOST:PORT, redis+sentinel://HOST:PORT,…/PRIMARY,
// redis+cluster://HOST:PORT,…. The benches fetch the jars that pom.xml names. Prints one JSON object. All defaults of
// the library are kept, but for the time that an actor's watchdog gives each lock.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

final class RedissonBench {
  private static final int PROCESSES = 2;
  private static final int WARM_UP = 3000; // until the JIT has seen it

  private static String kind;

  private static RedissonClient client(String url, long ttlMs) {
    final var config = new Config();
    final String[] parts = url.split("://", 2);
    final String[] place = parts[1].split("/", 2);
    final String[] hosts = Arrays.stream(place[0].split(",")).map(each -> "redis://" + each).toArray(String[]::new);
    switch (parts[0]) {
      case "redis" -> config.useSingleServer().setAddress(hosts[0]);
      case "redis+sentinel" -> config.useSentinelServers().setMasterName(place[1]).addSentinelAddress(hosts);
      default -> config.useClusterServers().addNodeAddress(hosts);
    }
    if (ttlMs > 0) config.setLockWatchdogTimeout(ttlMs);
    return Redisson.create(config);
  }

  private static RLock lock(RedissonClient client, String name) {
    return kind.equals("fair") ? client.getFairLock(name) : client.getLock(name);
  }

  private static String name(String scenario) {
    return "bench-" + ProcessHandle.current().pid() + "-" + scenario;
  }

  private static String percentile(double[] sorted, double share) {
    return sorted.length == 0 ? "null" : number(sorted[(int) (sorted.length * share)]);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private static void print(String scenario, String figures) {
    System.out.println("{\"store\": \"Redisson " + kind + "\", \"scenario\": \"" + scenario + "\", " + figures + "}");
  }

  private static void pair(String url, int count) {
    final var client = client(url, 0);
    final var lock = lock(client, name("pair"));
    final var samplesUs = new double[count];
    for (int n = -WARM_UP; n < count; ++n) {
      final long start = System.nanoTime();
      lock.lock();
      lock.unlock();
      if (n >= 0) samplesUs[n] = (System.nanoTime() - start) / 1e3;
    }
    final double totalUs = Arrays.stream(samplesUs).sum();
    Arrays.sort(samplesUs);
    print("pair", "\"count\": " + count + ", \"p50_us\": " + percentile(samplesUs, 0.5) + ", \"p99_us\": "
        + percentile(samplesUs, 0.99) + ", \"per_s\": " + number(1e6 * count / totalUs));
    client.shutdown();
  }

  /** From when lock() returned until unlock() was called, on the clock that all processes share. */
  private record Hold(long granted, long released, int process) {}

  /** One process of a hand-off: told by a line when to begin and end; prints a line of its holds. */
  private static void contend(String url, String name) throws Exception {
    final var client = client(url, 0);
    final var lock = lock(client, name);
    final var own = lock(client, name + "-" + ProcessHandle.current().pid());
    for (int n = 0; n < WARM_UP; ++n) {
      own.lock();
      own.unlock();
    }
    System.out.println("ready");
    final String[] interval = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine()
        .split(" ");
    final long end = Long.parseLong(interval[1]);
    final var holds = new StringBuilder();
    Thread.sleep(Math.max(0, Long.parseLong(interval[0]) - System.nanoTime()) / 1_000_000);
    while (System.nanoTime() < end) {
      lock.lock();
      final long granted = System.nanoTime();
      final long released = System.nanoTime();
      lock.unlock();
      if (granted < end) holds.append(granted).append(' ').append(released).append(' ');
    }
    System.out.println(holds);
    client.shutdown();
  }

  private static Process start(String url, String name) throws Exception {
    final var command = List.of(ProcessHandle.current().info().command().orElse("java"), "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), "RedissonBench", kind, "contend", url,
        name);
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  private static void handoff(String url, double seconds) throws Exception {
    final var processes = new ArrayList<Process>();
    final var outputs = new ArrayList<BufferedReader>();
    for (int n = 0; n < PROCESSES; ++n) {
      processes.add(start(url, name("handoff")));
      outputs.add(new BufferedReader(new InputStreamReader(processes.get(n).getInputStream(), StandardCharsets.UTF_8)));
    }
    for (final var each : outputs) {
      if (!"ready".equals(each.readLine())) throw new IllegalStateException("a contending process failed");
    }
    final long begin = System.nanoTime() + 500_000_000L;
    for (final var each : processes) {
      new PrintStream(each.getOutputStream(), true, StandardCharsets.UTF_8)
          .println(begin + " " + (begin + Math.round(seconds * 1e9)));
    }
    final var holds = new ArrayList<Hold>();
    final int[] grants = new int[PROCESSES];
    for (int n = 0; n < PROCESSES; ++n) {
      final String line = outputs.get(n).readLine();
      final var times = line == null || line.isBlank() ? new String[0] : line.trim().split(" ");
      for (int at = 0; at < times.length; at += 2) {
        holds.add(new Hold(Long.parseLong(times[at]), Long.parseLong(times[at + 1]), n));
      }
      grants[n] = times.length / 2;
    }
    holds.sort((one, other) -> Long.compare(one.granted(), other.granted()));
    final var samplesUs = new ArrayList<Double>();
    for (int n = 1; n < holds.size(); ++n) {
      final var before = holds.get(n - 1);
      final var after = holds.get(n);
      if (after.granted() < before.released()) {
        throw new IllegalStateException("MUTUAL EXCLUSION WAS VIOLATED: Redisson granted a held lock");
      }
      if (before.process() != after.process()) samplesUs.add((after.granted() - before.released()) / 1e3);
    }
    final double[] sorted = samplesUs.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    Arrays.sort(grants);
    print("handoff", "\"processes\": " + PROCESSES + ", \"concurrency\": 1, \"duration_s\": " + number(seconds)
        + ", \"per_s\": " + number(holds.size() / seconds) + ", \"grants\": " + holds.size() + ", \"grants_min\": "
        + grants[0] + ", \"grants_max\": " + grants[PROCESSES - 1] + ", \"handovers\": " + sorted.length
        + ", \"p50_us\": " + percentile(sorted, 0.5) + ", \"p99_us\": " + percentile(sorted, 0.99));
  }

  private static void say(String what, String name, String more) {
    System.out.println(what + " " + name + " " + System.nanoTime() + " " + more.replace('\n', ' '));
  }

  /** One name on one thread, because a lock belongs to its thread. Redisson does not tell when it is lost. */
  private static void hold(RedissonClient client, String name, boolean once, CountDownLatch dropped) {
    final var lock = lock(client, name);
    try {
      for (boolean granted = false; !granted;) {
        try {
          if (once) {
            granted = lock.tryLock();
            if (!granted) {
              say("refused", name, "held");
              return;
            }
          } else {
            lock.lock();
            granted = true;
          }
        } catch (RuntimeException problem) {
          say(once ? "refused" : "trouble", name, problem.toString());
          if (once) return;
          Thread.sleep(20);
        }
      }
      say("granted", name, "");
      dropped.await();
      lock.unlock();
      say("dropped", name, "");
    } catch (RuntimeException problem) {
      say("dropped", name, problem.toString());
    } catch (InterruptedException problem) {
      say("refused", name, problem.toString());
    }
  }

  private static void actor(String url, long ttlMs) throws Exception {
    final var client = client(url, ttlMs);
    final var first = lock(client, name("first"));
    first.lock(); // connected, and the classes are there
    first.unlock();
    System.out.println("ready");
    final Map<String, CountDownLatch> held = new ConcurrentHashMap<>();
    final var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = input.readLine()) != null;) {
      final String[] words = line.split(" ");
      if (words[0].equals("drop")) {
        held.remove(words[1]).countDown();
        continue;
      }
      final var dropped = new CountDownLatch(1);
      held.put(words[1], dropped);
      new Thread(() -> hold(client, words[1], words[0].equals("try"), dropped)).start();
    }
    Runtime.getRuntime().halt(0);
  }

  public static void main(String[] arguments) throws Exception {
    final String scenario = arguments.length > 2 ? arguments[1] : "";
    kind = arguments.length > 0 ? arguments[0] : "";
    switch (scenario) {
      case "pair" -> pair(arguments[2], arguments.length > 3 ? Integer.parseInt(arguments[3]) : 5000);
      case "handoff" -> handoff(arguments[2], arguments.length > 3 ? Double.parseDouble(arguments[3]) : 3);
      case "contend" -> contend(arguments[2], arguments[3]);
      case "actor" -> actor(arguments[2], Long.parseLong(arguments[3]));
      default -> {
        System.err.println("usage: RedissonBench lock|fair pair|handoff|actor URL [COUNT|SECONDS|TTL_MS]");
        System.exit(64);
      }
    }
  }
}
