package vitrina;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** Elasticsearch 9, which needs Java 21. */
final class Generation {
    private Generation() {}

    static Node node(Settings settings) throws IOException {
        LogConfigurator.configureESLogging();
        Path home = Path.of(settings.get("path.home"));
        HttpModule.install(home);
        Environment environment =
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "vitrina-test");
        Node node = new Node(environment, PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(home.resolve("modules")), Set.of(), Map.of()));
        HttpModule.answerRoot(node);
        return node;
    }
}
