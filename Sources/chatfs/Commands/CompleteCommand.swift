import CommandLineKit
import Configuration
import Desktop
import EmbeddedCore
import Posix
import Unlocking

/// `chatfs complete LIST`: prints candidates for completion scripts, one per line. Creates no data directory and never
/// waits.
enum CompleteCommand {
    private enum List: String, CaseIterable, Sendable {
        case profiles, chats, mountpoints, mounts, relays, commands
    }

    private static let list = Argument("LIST", .choice(List.self), "Which names.")
    private static let words = Argument("WORD", .text, count: .any, "The preceding words.")

    static let command = Command(
        "complete", "Print names for completion scripts.", section: CommandSection.other,
        arguments: [list, words], isHidden: true
    ) { invocation in
        let (list, words) = (invocation[list], invocation[words])
        let program = invocation.program
        let found = await ThreadPool.shared.run { names(list, Line(words), program) }
        for name in found { Terminal.print(name) }
    }

    /// The words typed so far.
    private struct Line: Sendable {
        let words: [String]

        init(_ words: [String]) { self.words = words }

        func value(of option: Option<String?>) -> String? {
            let name = "--" + option.name
            for (index, word) in words.enumerated() {
                if word == name, index + 1 < words.count { return words[index + 1] }
                if word.hasPrefix(name + "=") { return String(word.dropFirst(name.count + 1)) }
            }
            return nil
        }
    }

    /// Returns an empty list after errors, which cannot be reported during typing.
    private static func names(_ list: List, _ line: Line, _ program: Command) -> [String] {
        if list == .commands { return HelpCommand.next(after: Array(line.words.dropFirst()), in: program) }
        return (try? found(list, line)) ?? []
    }

    private static func found(_ list: List, _ line: Line) throws -> [String] {
        if list == .mountpoints { return try Mounted.all().map(\.mountpoint) }
        if list == .mounts { return try ConfigurationAccess.read().mounts.map(\.name) }
        let path = line.value(of: CommonOptions.data).map(AbsolutePath.of) ?? DataDirectory.defaultPath()
        let access = DirectoryAccess(path: path, ways: .quiet)
        guard try access.folder.condition != .new else { return [] }
        let directory = try access.open()
        let all = try directory.profiles()
        if list == .profiles { return all.map(\.displayName) }
        let named = line.value(of: CommonOptions.profile)
        let profiles = all.filter { named == nil || $0.displayName == named }
        if list == .relays {
            return Set(
                try profiles.flatMap { profile in
                    try directory.messagingServers(of: profile).map(\.text)
                        + directory.configuredRelays(of: profile).map(\.text)
                }
            ).sorted()
        }
        return Set(try profiles.flatMap { try directory.namedChats(of: $0).all.map(\.name) }).sorted()
    }
}
