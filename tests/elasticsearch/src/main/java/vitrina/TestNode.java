package vitrina;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.http.HttpServerTransport;
import org.elasticsearch.node.Node;

/**
 * One Elasticsearch node on 127.0.0.1, for tests.
 *
 * <pre>java -cp … vitrina.TestNode [--data DIRECTORY] [setting=value]…</pre>
 *
 * Prints its address once it answers, and ends when its standard input does: with whoever started it, however that ends.
 * Without --data its files are in a temporary directory, which is removed.
 */
public final class TestNode {
    private TestNode() {}

    public static void main(String[] arguments) throws Exception {
        Path given = null;
        Settings.Builder settings = Settings.builder();
        for (int i = 0; i < arguments.length; i++) {
            if (arguments[i].equals("--data")) {
                given = Path.of(arguments[++i]);
            } else {
                String[] pair = arguments[i].split("=", 2);
                settings.put(pair[0], pair[1]);
            }
        }
        Path home = given != null ? given : Files.createTempDirectory("vitrina-elasticsearch");
        Node node = Generation.node(withDefaults(settings, home));
        boolean keep = given != null;
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(node, home, keep)));
        node.start();
        System.out.println("http://" + node.injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress());
        while (System.in.read() >= 0) {
            // Whatever is written there is of no interest: only the end of it.
        }
        System.exit(0);
    }

    private static Settings withDefaults(Settings.Builder given, Path home) {
        return Settings.builder()
            .put("path.home", home.toString())
            .put("cluster.name", "vitrina-test")
            .put("node.name", "vitrina-test")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", 0)
            .put("transport.port", 0)
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            // A nearly full disk would make every index read-only.
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .put(given.build())
            .build();
    }

    private static void stop(Node node, Path home, boolean keep) {
        try {
            node.close();
            if (!keep) {
                remove(home);
            }
        } catch (IOException | UncheckedIOException error) {
            System.err.println("could not clean up " + home + ": " + error);
        }
    }

    private static void remove(Path home) throws IOException {
        try (Stream<Path> files = Files.walk(home)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> {
                try {
                    Files.deleteIfExists(file);
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                }
            });
        }
    }
}
