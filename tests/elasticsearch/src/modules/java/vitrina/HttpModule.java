package vitrina;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.elasticsearch.Version;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.node.Node;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;

/** From version 8 on HTTP is a module, whose jars are named by the property vitrina.module. */
final class HttpModule {
    private HttpModule() {}

    /** Puts the module where a node looks for it. */
    static void install(Path home) throws IOException {
        Files.createDirectories(home.resolve("config"));
        Path module = Files.createDirectories(home.resolve("modules").resolve("transport-netty4"));
        for (String jar : System.getProperty("vitrina.module").split(":")) {
            Path file = Path.of(jar);
            Files.copy(file, module.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
        }
        Files.writeString(module.resolve("plugin-descriptor.properties"), String.join("\n",
            "name=transport-netty4",
            "description=HTTP",
            "version=" + Version.CURRENT,
            "elasticsearch.version=" + Version.CURRENT,
            "java.version=" + Runtime.version().feature(),
            "classname=org.elasticsearch.transport.netty4.Netty4Plugin",
            "modulename=org.elasticsearch.transport.netty4",
            ""));
    }

    /** Lets a node say what it is. */
    static void answerRoot(Node node) {
        node.injector().getInstance(RestController.class).registerHandler(new Root());
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
