import CommandLineKit
import Configuration

/// A mount with its options in the form of the configuration. A pure value.
struct ShownMount: Encodable {
    var name: String
    var mountpoint: String
    var options: [String: [String]]
    var chats: [String: [String: String]]

    /// Creates a mount without chat rules.
    ///
    /// - Parameter mountpoint: Absolute path.
    init(name: String, mountpoint: String, options: [String: [String]]) {
        (self.name, self.mountpoint, self.options, chats) = (name, mountpoint, options, [:])
    }

    /// - Parameter options: Effective options of `chatfs mount`.
    init(_ mount: Configuration.Mount, options: [String: [String]]) {
        (name, mountpoint, self.options) = (mount.name, mount.mountpoint, options)
        chats = Dictionary(mount.chats.map { ($0.name, $0.rules) }) { first, _ in first }
    }

    /// Returns the lines of the mount's table in the configuration.
    var lines: [String] {
        var lines = ["[mounts.\(TOMLText.key(name))]", "mountpoint = \(TOMLText.string(mountpoint))"]
        for (option, values) in options.sorted(by: { $0.key < $1.key }) {
            lines.append("\(option) = \(Self.text(of: values, MountOptions.all.first { $0.name == option }))")
        }
        for (chat, rules) in chats.sorted(by: { $0.key < $1.key }) {
            lines.append("[mounts.\(TOMLText.key(name)).chats.\(TOMLText.key(chat))]")
            for (rule, value) in rules.sorted(by: { $0.key < $1.key }) {
                lines.append("\(rule) = \(value)")
            }
        }
        return lines
    }

    private static func text(of values: [String], _ option: (any OptionDeclaration)?) -> String {
        guard let option, option.type != nil else { return String(!values.isEmpty) }
        let values = values.map(TOMLText.string)
        return option.repeats ? "[\(values.joined(separator: ", "))]" : values.joined()
    }
}

extension Configuration.Chat {
    /// Rules by key, as TOML values.
    var rules: [String: String] {
        var rules = Dictionary(keep.map { ($0 == KeepOptions.kinds.name ? "keep" : $0, TOMLText.string($1)) })
        { first, _ in
            first
        }
        if let isMuted { rules["mute"] = String(isMuted) }
        return rules
    }
}
