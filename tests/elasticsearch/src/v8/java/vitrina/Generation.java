package vitrina;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;

/** Elasticsearch 8. */
final class Generation {
    private Generation() {}

    static Node node(Settings settings) throws IOException {
        LogConfigurator.configureESLogging();
        HttpModule.install(Path.of(settings.get("path.home")));
        Node node = new Node(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "vitrina-test"));
        HttpModule.answerRoot(node);
        return node;
    }
}
