// Java threads of every kind.  SPDX-License-Identifier: Apache-2.0
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.stream.*;

public class Threads {
    static int turn = 0;

    static void monitors() throws Exception {
        Object lock = new Object();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            final int me = i;
            Thread t = new Thread(() -> {
                synchronized (lock) {
                    try {
                        while (turn != me) lock.wait();
                    } catch (InterruptedException e) { throw new RuntimeException(e); }
                    turn++;
                    lock.notifyAll();
                }
            });
            threads.add(t);
            t.start();
        }
        for (Thread t : threads) t.join();
        System.out.println("wait/notify " + turn);
    }

    static void executors() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Long>> results = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            final int n = i;
            results.add(pool.submit(() -> LongStream.range(0, 1000 + n).sum()));
        }
        long sum = 0;
        for (Future<Long> f : results) sum += f.get();
        pool.shutdown();
        System.out.println("executor " + sum + " " + pool.awaitTermination(10, TimeUnit.SECONDS));
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        CountDownLatch ticks = new CountDownLatch(5);
        timer.scheduleAtFixedRate(ticks::countDown, 1, 2, TimeUnit.MILLISECONDS);
        System.out.println("scheduled " + ticks.await(10, TimeUnit.SECONDS));
        timer.shutdownNow();
        CompletableFuture<Integer> f = CompletableFuture.supplyAsync(() -> 6).thenCombineAsync(
            CompletableFuture.supplyAsync(() -> 7), (a, b) -> a * b);
        System.out.println("future " + f.get());
    }

    static void locks() throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Condition changed = lock.newCondition();
        AtomicInteger count = new AtomicInteger();
        CyclicBarrier barrier = new CyclicBarrier(4, count::incrementAndGet);
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            threads[i] = new Thread(() -> {
                try {
                    for (int r = 0; r < 25; r++) barrier.await();
                    lock.lock();
                    try { changed.await(5, TimeUnit.MILLISECONDS); } finally { lock.unlock(); }
                } catch (Exception e) { throw new RuntimeException(e); }
            });
            threads[i].start();
        }
        for (Thread t : threads) t.join();
        System.out.println("barrier " + count);
        Thread sleeper = new Thread(() -> {
            try { Thread.sleep(100000); } catch (InterruptedException e) { System.out.println("interrupted"); }
        });
        sleeper.start();
        sleeper.interrupt();
        sleeper.join();
        Thread parked = new Thread(LockSupport::park);
        parked.start();
        LockSupport.unpark(parked);
        parked.join();
        System.out.println("unparked");
    }

    public static void main(String[] args) throws Exception {
        System.out.println("processors " + Runtime.getRuntime().availableProcessors());
        System.out.println("stream " + IntStream.range(0, 1_000_000).parallel().mapToLong(i -> i % 7).sum());
        monitors();
        executors();
        locks();
        for (int i = 0; i < 20; i++) { byte[][] junk = new byte[100][]; for (int j = 0; j < 100; j++) junk[j] = new byte[10000]; }
        System.gc();
        Process p = new ProcessBuilder("sh", "-c", "echo child; exit 3").redirectErrorStream(true).start();
        System.out.println(new String(p.getInputStream().readAllBytes()).trim() + " " + p.waitFor());
        long before = System.nanoTime();
        Thread.sleep(50);
        System.out.println("slept " + (System.nanoTime() - before >= 50_000_000));
    }
}
