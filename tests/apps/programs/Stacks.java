// Faults that the virtual machine makes exceptions of, stacks that overflow, collections.  SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Stacks {
    static class Node { int value; Node next; }

    static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }

    static int overflows(int times) {
        int seen = 0;
        for (int i = 0; i < times; i++) {
            try { deep(Integer.MAX_VALUE); } catch (StackOverflowError e) { seen++; }
        }
        return seen;
    }

    static int nulls(int times) {
        int seen = 0;
        Node[] nodes = {new Node(), null};
        for (int i = 0; i < times; i++) {
            try { seen += nodes[i & 1].value; } catch (NullPointerException e) { seen++; }
        }
        return seen;
    }

    static long lists(int times) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            Node head = null;
            for (int k = 0; k < 1000; k++) { Node n = new Node(); n.value = k; n.next = head; head = n; }
            for (Node n = head; n != null; n = n.next) sum += n.value;
        }
        return sum;
    }

    static ExecutorService pool() {
        try {       // threads of the virtual machine's own, where it has them
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (ReflectiveOperationException e) {
            return Executors.newFixedThreadPool(8);
        }
    }

    public static void main(String[] args) throws Exception {
        List<Future<Long>> work = new ArrayList<>();
        ExecutorService fixed = Executors.newFixedThreadPool(8), many = pool();
        for (int i = 0; i < 8; i++) {
            work.add(fixed.submit(() -> (long) overflows(20)));
            work.add(fixed.submit(() -> (long) nulls(200000)));
            work.add(many.submit(() -> lists(500)));
        }
        long sum = 0;
        for (Future<Long> f : work) sum += f.get();
        fixed.shutdown();
        many.shutdown();
        System.out.println("sum " + sum);
    }
}
