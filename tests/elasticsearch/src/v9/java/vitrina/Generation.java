package vitrina;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.Version;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;

/** Elasticsearch 9, which needs Java 21: HTTP is a module, whose jars are named by the property vitrina.module. */
final class Generation {
    private Generation() {}

    static Node node(Settings settings) throws IOException {
        LogConfigurator.configureESLogging();
        Path home = Path.of(settings.get("path.home"));
        Files.createDirectories(home.resolve("config"));
        install(home.resolve("modules").resolve("transport-netty4"));
        Environment environment =
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "vitrina-test");
        Node node = new Node(environment, PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(home.resolve("modules")), Set.of(), Map.of()));
        node.injector().getInstance(RestController.class).registerHandler(new Root());
        return node;
    }

    private static void install(Path module) throws IOException {
        Files.createDirectories(module);
        for (String jar : System.getProperty("vitrina.module").split(":")) {
            Path file = Path.of(jar);
            Files.copy(file, module.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
        }
        Files.writeString(module.resolve("plugin-descriptor.properties"), String.join("\n",
            "name=transport-netty4",
            "description=HTTP",
            "version=" + Version.CURRENT,
            "elasticsearch.version=" + Version.CURRENT,
            "java.version=21",
            "classname=org.elasticsearch.transport.netty4.Netty4Plugin",
            "modulename=org.elasticsearch.transport.netty4",
            ""));
    }

    /** GET /: the module that answers it is not on Maven Central. */
    private static final class Root extends BaseRestHandler {
        @Override
        public String getName() {
            return "vitrina_root";
        }

        @Override
        public List<Route> routes() {
            return List.of(new Route(RestRequest.Method.GET, "/"));
        }

        @Override
        protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
            return channel -> channel.sendResponse(new RestResponse(RestStatus.OK, channel.newBuilder()
                .startObject()
                .field("cluster_name", "vitrina-test")
                .startObject("version").field("number", Version.CURRENT.toString()).endObject()
                .field("tagline", "You Know, for Search")
                .endObject()));
        }
    }
}
