import Base
import CommandLineKit
import Desktop
import Keeping

/// The options of a keep rule, which are the keys of a chat in the configuration.
enum KeepOptions {
    static let all: [any OptionDeclaration] = [kinds, largest, minimumFree, metered, moment, autoReceive]

    static let kinds = Option(
        "what", named: "KINDS", .choice(KeepRule.Kinds.self),
        "never (the default), media (pictures, videos, voice messages), all.")
    private static let largest = Option(
        "max-size", named: "SIZE", .byteCount,
        "Skip larger files; default \(ByteCount.exact(KeepRule().largest)).")
    private static let minimumFree = Option(
        "min-free", named: "SIZE", .byteCount,
        "Free space to leave on the disk of the data; default \(ByteCount.exact(KeepRule().minimumFree)).")
    private static let metered = Option(
        "metered", named: "YES|NO", .either("yes", "no"), "Whether to use metered connections; default no.")
    private static let moment = Option(
        "when", named: "MOMENT", .choice(KeepRule.Moment.self),
        "arrival (the default), or expiring: in the last 24 hours.")
    private static let autoReceive = Option(
        "auto-receive", named: "YES|NO", .either("yes", "no"),
        "Whether to receive small pictures, videos and voice messages at arrival, as the SimpleX "
            + "apps do; default yes.")

    /// Returns the change of a rule.
    /// - Parameter texts: Texts by option name.
    static func change(in chat: String?, to texts: [String: [String]]) -> KeepRequest {
        var request = KeepRequest(.set, chat: chat)
        request.what = kinds.value(in: texts)?.rawValue
        request.largest = largest.value(in: texts)
        request.minimumFree = minimumFree.value(in: texts)
        request.metered = metered.value(in: texts)
        request.when = moment.value(in: texts)?.rawValue
        request.autoReceive = autoReceive.value(in: texts)
        return request
    }
}
