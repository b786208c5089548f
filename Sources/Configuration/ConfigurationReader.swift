import Base
import CommandLineKit

/// Makes a configuration of a TOML document. Pure.
public struct ConfigurationReader: Sendable {
    private let mountOptions: [any OptionDeclaration]
    private let chatOptions: [any OptionDeclaration]
    private let home: String

    /// - Parameters:
    ///   - mountOptions: options of `chatfs mount` that a file may set.
    ///   - chatOptions: options of `chatfs keep set` that a file may set for a chat.
    ///   - home: the folder that `~` stands for, absolute.
    public init(mountOptions: [any OptionDeclaration], chatOptions: [any OptionDeclaration], home: String) {
        self.mountOptions = mountOptions
        self.chatOptions = chatOptions
        self.home = home
    }

    /// - Throws: `syntax` or `content`, with the line.
    public func read(_ text: [UInt8]) throws(ConfigurationError) -> Configuration {
        var configuration = Configuration()
        for entry in try TOMLValue.parse(text) {
            switch entry.key {
            case "mount":
                configuration.common = try options(try table(entry, "mount"), in: "mount", known: [])
            case "mounts":
                for mount in try table(entry, "mounts") {
                    configuration.mounts.append(try self.mount(mount))
                }
            default: throw unknown(entry, in: nil, among: ["mount", "mounts"])
            }
        }
        try checkMountpoints(configuration.mounts)
        return configuration
    }

    // MARK: - A mount

    private func mount(_ entry: TOMLValue.Entry) throws(ConfigurationError) -> Configuration.Mount {
        let place = "mounts.\(entry.key)"
        guard !entry.key.isEmpty, !entry.key.contains("/"), !entry.key.hasPrefix("-") else {
            throw Self.wrong(entry.value.line, "'\(entry.key)' cannot name a mount")
        }
        let entries = try table(entry, place)
        var mountpoint: String?
        var chats: [Configuration.Chat] = []
        for entry in entries {
            switch entry.key {
            case "mountpoint": mountpoint = try path(try string(entry, in: place), entry, in: place)
            case "chats":
                for chat in try table(entry, place + ".chats") {
                    chats.append(try self.chat(chat, in: place + ".chats"))
                }
            default: break
            }
        }
        guard let mountpoint else {
            throw Self.wrong(entry.value.line, "[\(place)] needs mountpoint = \"FOLDER\"")
        }
        let own = ["mountpoint", "chats"]
        return Configuration.Mount(
            name: entry.key, mountpoint: mountpoint,
            options: try options(entries, in: place, known: own), chats: chats, line: entry.value.line)
    }

    /// Two mounts of one folder cannot be told apart.
    private func checkMountpoints(_ mounts: [Configuration.Mount]) throws(ConfigurationError) {
        for (index, mount) in mounts.enumerated() {
            if let other = mounts[..<index].first(where: { $0.mountpoint == mount.mountpoint }) {
                throw Self.wrong(
                    mount.line, "[mounts.\(mount.name)] has the folder of [mounts.\(other.name)]")
            }
        }
    }

    /// - Parameter known: keys that are no options.
    private func options(
        _ entries: [TOMLValue.Entry], in place: String, known: [String]
    ) throws(ConfigurationError) -> [String: [String]] {
        var result: [String: [String]] = [:]
        for entry in entries where !known.contains(entry.key) {
            guard let option = mountOptions.first(where: { $0.name == entry.key }) else {
                throw unknown(entry, in: place, among: mountOptions.map(\.name) + known)
            }
            result[option.name] = try values(of: option, entry, in: place)
        }
        return result
    }

    /// None for a flag that is false: it replaces one that is true for every mount.
    private func values(
        of option: any OptionDeclaration, _ entry: TOMLValue.Entry, in place: String
    ) throws(ConfigurationError) -> [String] {
        guard let type = option.type else {
            guard case .boolean(let isSet) = entry.value.content else {
                throw Self.wrong(entry.value.line, "\(place).\(entry.key) is true or false")
            }
            return isSet ? [""] : []
        }
        guard case .array(let elements) = entry.value.content else {
            return [try scalar(of: type, entry, in: place)]
        }
        guard option.repeats else {
            throw Self.wrong(entry.value.line, "\(place).\(entry.key) is one value, not a list")
        }
        var values: [String] = []
        for element in elements {
            values.append(
                try scalar(of: type, TOMLValue.Entry(key: entry.key, value: element), in: place))
        }
        return values
    }

    private func scalar(
        of type: ValueType, _ entry: TOMLValue.Entry, in place: String
    ) throws(ConfigurationError) -> String {
        var text = try string(entry, in: place)
        switch type {
        case .file, .folder: text = try path(text, entry, in: place)
        default: break
        }
        if let complaint = type.complaint(about: text) {
            throw Self.wrong(entry.value.line, "\(place).\(entry.key) '\(text)': \(complaint)")
        }
        return text
    }

    // MARK: - A chat

    private func chat(
        _ entry: TOMLValue.Entry, in place: String
    ) throws(ConfigurationError) -> Configuration.Chat {
        let place = place + "." + entry.key
        var chat = Configuration.Chat(name: entry.key, isMuted: nil, keep: [:])
        for entry in try table(entry, place) {
            if entry.key == "mute" {
                guard case .boolean(let isMuted) = entry.value.content else {
                    throw Self.wrong(entry.value.line, "\(place).mute is true or false")
                }
                chat.isMuted = isMuted
                continue
            }
            // The rule's kinds have the rule's name.
            let name = entry.key == "keep" ? "what" : entry.key
            guard name != entry.key || name != "what",
                let option = chatOptions.first(where: { $0.name == name }),
                let type = option.type
            else {
                let keys = ["mute", "keep"] + chatOptions.map(\.name).filter { $0 != "what" }
                throw unknown(entry, in: place, among: keys)
            }
            if case .boolean(let isYes) = entry.value.content, case .choice(["yes", "no"]) = type {
                chat.keep[name] = isYes ? "yes" : "no"
            } else {
                chat.keep[name] = try scalar(of: type, entry, in: place)
            }
        }
        return chat
    }

    // MARK: - Values

    private func table(
        _ entry: TOMLValue.Entry, _ place: String
    ) throws(ConfigurationError) -> [TOMLValue.Entry] {
        guard case .table(let entries) = entry.value.content else {
            throw Self.wrong(entry.value.line, "\(place) is a table: [\(place)]")
        }
        return entries
    }

    private func string(
        _ entry: TOMLValue.Entry, in place: String
    ) throws(ConfigurationError) -> String {
        switch entry.value.content {
        case .string(let text) where !text.utf8.contains(0): return text
        case .integer(let number): return String(number)
        default: throw Self.wrong(entry.value.line, "\(place).\(entry.key) is a text: \"…\"")
        }
    }

    /// An absolute path; `~/` is the home folder. A relative one would depend on the folder of the command.
    private func path(
        _ text: String, _ entry: TOMLValue.Entry, in place: String
    ) throws(ConfigurationError) -> String {
        var path = text
        if text == "~" { path = home }
        if text.hasPrefix("~/") { path = home + text.dropFirst(1) }
        guard path.hasPrefix("/") else {
            throw Self.wrong(entry.value.line, "\(place).\(entry.key) begins with / or ~/")
        }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    private func unknown(
        _ entry: TOMLValue.Entry, in place: String?, among keys: [String]
    ) -> ConfigurationError {
        let name = place.map { "\($0).\(entry.key)" } ?? entry.key
        return Self.wrong(
            entry.value.line, "unknown key \(name)" + Suggestion.text(for: entry.key, among: keys))
    }

    private static func wrong(_ line: Int, _ words: String) -> ConfigurationError {
        ConfigurationError(.content, "Line \(line): \(words)")
    }
}
