import Base
import CommandLineKit
import Desktop
import Hydration
import Posix

/// `chatfs cache`: parts and plain copies of files on this machine.
enum CacheCommand {
    private static let json = Option.flag("json", "For programs: one JSON object.")

    static let command = Command(
        "cache", "Show or empty the cache of a mount.",
        section: CommandSection.daily,
        subcommands: [
            Command(
                "show", "Show the size, mode and limits of the cache.",
                arguments: [CommonOptions.mountpoint], options: [json, CommonOptions.mount],
                examples: [Example("chatfs cache show", "Show the cache of the only mount.")]
            ) { try await ask(.show, $0, isForPrograms: $0[json]) },
            Command(
                "clear", "Remove cached bytes, except of open and pinned files.",
                discussion: "Received files stay encrypted in the data directory.",
                arguments: [CommonOptions.mountpoint], options: [CommonOptions.mount],
                examples: [Example("chatfs cache clear ~/Chats", "Empty the cache of this mount.")]
            ) { try await ask(.clear, $0) },
        ])

    private static func ask(
        _ action: CacheRequest.Action, _ invocation: Invocation, isForPrograms: Bool = false
    ) async throws {
        let daemon = try await CacheClient.daemon(of: Mounted.chosen(by: invocation))
        let answer = try await ThreadPool.shared.run { () throws(DesktopError) in
            try daemon.ask(CacheRequest(action))
        }
        guard let cache = answer.cache else { return }
        if isForPrograms { return Terminal.print(try JSONLine.encoded(cache)) }
        let isInMemory = cache.mode == CacheMode.memory.rawValue
        let most = cache.limit ?? (isInMemory ? HydrationSettings().spareMemory : nil)
        let limit = most.map { "at most \(ByteCount.rounded($0))" } ?? "no limit"
        let files = cache.files == 1 ? "1 file" : "\(cache.files) files"
        Terminal.print(
            isInMemory
                ? "the cache is in memory only, \(limit)"
                : "\(ByteCount.rounded(cache.bytesOnDisk)) on the disk (\(cache.mode)), \(limit)")
        Terminal.print("\(files) at hand, \(cache.pinned) pinned")
        if isInMemory { return }
        Terminal.print(
            "\(ByteCount.rounded(cache.free)) free on the disk, of which \(ByteCount.rounded(cache.minimumFree)) "
                + "stay free")
    }
}
