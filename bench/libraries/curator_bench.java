// What Curator's InterProcessMutex and LeaderLatch cost: the figures of `holdfast bench`, for a library that shares locks
// with us.
//
//     java -cp JARS curator_bench.java pair    HOST:PORT [COUNT]               one thread, one free path
//     java -cp JARS curator_bench.java handoff HOST:PORT [SECONDS [WAITERS]]   two processes with half of the waiters
//                                                                              each, one path
//     java -cp JARS curator_bench.java term     HOST:PORT [COUNT]              one thread starts a LeaderLatch on a free
//                                                                              path, awaits it and closes it
//     java -cp JARS curator_bench.java campaign HOST:PORT TTL_S                a candidate, which says "ready" and then
//                                                                              "elected"; TTL_S is its session's
//
// JARS: /usr/share/java/curator-recipes.jar:/usr/share/java/slf4j-nop.jar. Prints one JSON object. All defaults of the
// library are kept; a process has one client, and so one session, as its users have it, and each waiter is a thread.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

final class CuratorBench {
  private static final int PROCESSES = 2;
  private static final int WARM_UP = 3000; // until the JIT has seen it

  private static CuratorFramework client(String where) throws InterruptedException {
    final var client = CuratorFrameworkFactory.newClient(where, new ExponentialBackoffRetry(100, 5));
    client.start();
    client.blockUntilConnected();
    return client;
  }

  private static String name(String scenario) {
    return "/bench-" + ProcessHandle.current().pid() + "-" + scenario;
  }

  private static String percentile(double[] sorted, double share) {
    return sorted.length == 0 ? "null" : number(sorted[(int) (sorted.length * share)]);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private static void print(String scenario, String figures) throws Exception {
    final var jar = new Properties();
    try (var file = CuratorFramework.class.getResourceAsStream(
        "/META-INF/maven/org.apache.curator/curator-framework/pom.properties")) {
      jar.load(file);
    }
    System.out.println("{\"store\": \"Curator " + jar.getProperty("version") + "\", \"scenario\": \"" + scenario
        + "\", " + figures + "}");
  }

  private interface Section {
    void run() throws Exception;
  }

  private static void measure(String scenario, int count, Section section) throws Exception {
    final var samplesUs = new double[count];
    for (int n = -WARM_UP; n < count; ++n) {
      final long start = System.nanoTime();
      section.run();
      if (n >= 0) samplesUs[n] = (System.nanoTime() - start) / 1e3;
    }
    final double totalUs = Arrays.stream(samplesUs).sum();
    Arrays.sort(samplesUs);
    print(scenario, "\"count\": " + count + ", \"p50_us\": " + percentile(samplesUs, 0.5) + ", \"p99_us\": "
        + percentile(samplesUs, 0.99) + ", \"per_s\": " + number(1e6 * count / totalUs));
  }

  private static void pair(String where, int count) throws Exception {
    try (CuratorFramework client = client(where)) {
      final var lock = new InterProcessMutex(client, name("pair"));
      measure("pair", count, () -> {
        lock.acquire();
        lock.release();
      });
    }
  }

  private static void term(String where, int count) throws Exception {
    try (CuratorFramework client = client(where)) {
      measure("term", count, () -> {
        try (var latch = new LeaderLatch(client, name("term"), "bench")) {
          latch.start();
          latch.await();
        }
      });
    }
  }

  private static void campaign(String where, int ttlS) throws Exception {
    final var client = CuratorFrameworkFactory.newClient(where, ttlS * 1000, 10_000, new ExponentialBackoffRetry(100, 5));
    client.start();
    client.blockUntilConnected();
    final var latch = new LeaderLatch(client, "/bench-failover", "bench");
    System.out.println("ready");
    latch.start();
    latch.await();
    System.out.println("elected");
    Thread.currentThread().join(); // until it is killed
  }

  /** From when acquire returned until release was called, on the clock that all processes share. */
  private record Hold(long granted, long released, int process) {}

  /** One process of a hand-off: told by a line when to begin and end; prints a line a waiter, of its holds. */
  private static void contend(String where, String name, int waiters) throws Exception {
    final var threads = Executors.newFixedThreadPool(waiters);
    try (CuratorFramework client = client(where)) {
      System.out.println("ready");
      final var interval = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine().split(" ");
      final long begin = Long.parseLong(interval[0]);
      final long end = Long.parseLong(interval[1]);
      final Callable<String> waiter = () -> {
        final var holds = new StringBuilder();
        final var lock = new InterProcessMutex(client, name);
        Thread.sleep(Math.max(0, begin - System.nanoTime()) / 1_000_000);
        while (System.nanoTime() < end) {
          lock.acquire();
          final long granted = System.nanoTime();
          final long released = System.nanoTime();
          lock.release();
          if (granted < end) holds.append(granted).append(' ').append(released).append(' ');
        }
        return holds.toString();
      };
      final var running = new ArrayList<Future<String>>();
      for (int n = 0; n < waiters; ++n) running.add(threads.submit(waiter));
      final var all = new StringBuilder();
      for (final var each : running) all.append(each.get()).append('\n');
      System.out.print(all);
    } finally {
      threads.shutdownNow();
    }
  }

  private static Process start(String where, String name, int waiters) throws Exception {
    final var command = new ArrayList<>(List.of(
        ProcessHandle.current().info().command().orElse("java"), "-Xss512k", "-cp", System.getProperty("java.class.path"),
        System.getProperty("jdk.launcher.sourcefile"), "contend", where, name,
        Integer.toString(waiters)));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  private static void handoff(String where, double seconds, int waiters) throws Exception {
    final var processes = new ArrayList<Process>();
    final var outputs = new ArrayList<BufferedReader>();
    for (int n = 0; n < PROCESSES; ++n) {
      processes.add(start(where, name("handoff"), waiters / PROCESSES));
      outputs.add(new BufferedReader(new InputStreamReader(processes.get(n).getInputStream(), StandardCharsets.UTF_8)));
    }
    for (final var each : outputs) {
      if (!"ready".equals(each.readLine())) throw new IllegalStateException("a contending process failed");
    }
    final long begin = System.nanoTime() + 500_000_000L;
    for (final var each : processes) {
      final var input = new PrintStream(each.getOutputStream(), true, StandardCharsets.UTF_8);
      input.println(begin + " " + (begin + Math.round(seconds * 1e9)));
    }
    final var holds = new ArrayList<Hold>();
    long most = 0;
    long least = Long.MAX_VALUE;
    for (int n = 0; n < PROCESSES; ++n) {
      for (String line; (line = outputs.get(n).readLine()) != null;) {
        final var times = line.isBlank() ? new String[0] : line.trim().split(" ");
        for (int at = 0; at < times.length; at += 2) {
          holds.add(new Hold(Long.parseLong(times[at]), Long.parseLong(times[at + 1]), n));
        }
        most = Math.max(most, times.length / 2);
        least = Math.min(least, times.length / 2);
      }
    }
    holds.sort((one, other) -> Long.compare(one.granted(), other.granted()));
    final var samplesUs = new ArrayList<Double>();
    for (int n = 1; n < holds.size(); ++n) {
      final var before = holds.get(n - 1);
      final var after = holds.get(n);
      if (after.granted() < before.released()) {
        throw new IllegalStateException("MUTUAL EXCLUSION WAS VIOLATED: Curator granted a held lock");
      }
      if (before.process() != after.process()) samplesUs.add((after.granted() - before.released()) / 1e3);
    }
    final double[] sorted = samplesUs.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    print("handoff", "\"processes\": " + PROCESSES + ", \"concurrency\": " + waiters / PROCESSES + ", \"duration_s\": "
        + number(seconds) + ", \"per_s\": " + number(holds.size() / seconds) + ", \"grants\": " + holds.size()
        + ", \"grants_min\": " + least + ", \"grants_max\": " + most + ", \"handovers\": " + sorted.length
        + ", \"p50_us\": " + percentile(sorted, 0.5) + ", \"p99_us\": " + percentile(sorted, 0.99));
  }

  public static void main(String[] arguments) throws Exception {
    final String scenario = arguments.length > 1 ? arguments[0] : "";
    switch (scenario) {
      case "pair" -> pair(arguments[1], arguments.length > 2 ? Integer.parseInt(arguments[2]) : 5000);
      case "term" -> term(arguments[1], arguments.length > 2 ? Integer.parseInt(arguments[2]) : 5000);
      case "campaign" -> campaign(arguments[1], Integer.parseInt(arguments[2]));
      case "handoff" -> handoff(arguments[1], arguments.length > 2 ? Double.parseDouble(arguments[2]) : 5,
          arguments.length > 3 ? Integer.parseInt(arguments[3]) : 4);
      case "contend" -> contend(arguments[1], arguments[2], Integer.parseInt(arguments[3]));
      default -> {
        System.err.println("usage: curator_bench.java pair|term|handoff|campaign HOST:PORT [COUNT|TTL_S|SECONDS [WAITERS]]");
        System.exit(64);
      }
    }
  }
}
