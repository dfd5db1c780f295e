package vitrina;

import java.util.List;
import java.util.Map;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.transport.Netty4Plugin;

/** Elasticsearch 7: what a node needs is on the class path. */
final class Generation {
    private Generation() {}

    static Node node(Settings settings) {
        return new Node(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "vitrina-test"),
            List.of(Netty4Plugin.class), false) {};
    }
}
