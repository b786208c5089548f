import Base
import CommandLineKit
import Glibc
import Posix
import Synchronization

/// Polls the demo's mounts several times a second and prints changes of entries and states. The daemons answer from
/// memory; polling downloads nothing.
final class TransferWatch: Sendable {
    struct Entry: Hashable {
        var state: String
        var progress: String
        var size: Int64
    }

    private let folder: DemoFolder
    private let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
    private let isStopped = Atomic(false)

    init(_ folder: DemoFolder) { self.folder = folder }

    /// Starts a thread, because a hanging mount must not delay the demo's end.
    func start() {
        Thread.start("demo-watch") { [self] in
            var known = entries()
            while !isStopped.load(ordering: .acquiring) {
                let now = entries()
                for line in Self.changes(from: known, to: now) { say(line) }
                showProgress(now)
                known = now
                usleep(200_000)
            }
        }
    }

    func stop() { isStopped.store(true, ordering: .releasing) }

    /// All entries of all chats by path below the demo's folder.
    private func entries() -> [String: Entry] {
        var result: [String: Entry] = [:]
        for person in DemoFolder.people {
            let root = folder.mountpoint(of: person)
            for chat in names(in: root) where !chat.hasPrefix(".") {
                for name in names(in: root + "/" + chat) {
                    let path = "\(root)/\(chat)/\(name)"
                    var status = stat()
                    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
                    result["\(person)/\(chat)/\(name)"] = Entry(
                        state: attribute("state", of: path), progress: attribute("progress", of: path),
                        size: Int64(status.st_size))
                }
            }
        }
        return result
    }

    /// Returns an empty list for vanished folders; the next poll shows the current state.
    private func names(in path: String) -> [String] {
        (try? PrivateFolder.names(in: OpenFile(path, flags: O_RDONLY | O_DIRECTORY))) ?? []
    }

    private func attribute(_ name: String, of path: String) -> String {
        ((try? ExtendedAttribute.text("user.chatfs." + name, of: path)) ?? nil) ?? ""
    }

    /// Returns a line for each entry with a new state. The size is shown once the file is complete.
    static func changes(from old: [String: Entry], to new: [String: Entry]) -> [String] {
        let paths = Set(old.keys).union(new.keys).sorted()
        return paths.compactMap { path in
            switch (old[path], new[path]) {
            case (nil, let entry?):
                "\(path)  new: \(entry.state)" + (entry.state == "draft" ? "" : size(of: entry))
            case (let before?, let entry?) where before.state != entry.state:
                "\(path)  \(before.state) → \(entry.state)" + (before.state == "draft" ? size(of: entry) : "")
            case (_?, nil): "\(path)  gone"
            default: nil
            }
        }
    }

    private static func size(of entry: Entry) -> String {
        ", \(ByteCount.rounded(UInt64(max(0, entry.size))))"
    }

    private func say(_ line: String) {
        var time = time(nil)
        var parts = tm()
        localtime_r(&time, &parts)
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec]
            .map { ($0 < 10 ? "0" : "") + "\($0)" }.joined(separator: ":")
        Terminal.write((isTerminal ? "\r\u{1B}[K" : "") + clock + "  " + line + "\n", to: STDOUT_FILENO)
    }

    /// On a terminal, redraws one line with the running transfers.
    private func showProgress(_ entries: [String: Entry]) {
        guard isTerminal else { return }
        let moving = entries.filter { ["sending", "receiving"].contains($0.value.state) }
            .sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.state) \($0.value.progress)%" }
        let line = moving.joined(separator: ", ").prefix(Terminal.width() - 1)
        Terminal.write("\r\u{1B}[K" + line, to: STDOUT_FILENO)
    }
}
