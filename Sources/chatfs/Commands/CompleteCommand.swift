import CommandLineKit
import Desktop
import EmbeddedCore
import Posix
import Unlocking

/// `chatfs complete LIST`: what completion scripts offer, a line each. Makes no data directory, waits for nobody.
enum CompleteCommand {
    static let command = Command(
        "complete", "Print names for completion scripts.", section: CommandSection.other,
        arguments: [Argument("LIST", .choice(["profiles", "chats", "mountpoints"]), "Which names.")],
        isHidden: true
    ) { invocation in
        let list = invocation.argument("LIST")
        let found = await ThreadPool.shared.run { names(list) }
        for name in found { Terminal.print(name) }
    }

    /// Nothing where something is wrong: there is nobody to tell while a line is being typed.
    @Sendable private static func names(_ list: String) -> [String] { (try? found(list)) ?? [] }

    private static func found(_ list: String) throws -> [String] {
        if list == "mountpoints" { return try Mounted.all().map(\.mountpoint) }
        let access = DirectoryAccess(path: DataDirectory.defaultPath(), ways: .quiet)
        guard try access.folder.condition != .new else { return [] }
        let directory = try access.open()
        let profiles = try directory.profiles()
        if list == "profiles" { return profiles.map(\.displayName) }
        return Set(try profiles.flatMap { try directory.namedChats(of: $0).all.map(\.name) }).sorted()
    }
}
