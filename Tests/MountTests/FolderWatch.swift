import Glibc
import Posix
import TestSupport

/// A program that watches a folder with inotify(7) and prints a line for each event: `CREATE a.txt`.
final class FolderWatch: Sendable {
    private let process: RunningProcess

    static func start(_ folder: String) async throws -> FolderWatch {
        let process = try await RunningProcess.start(
            ChildProcess.Settings(try Shell.find("python3"), ["-c", script, folder]))
        try await process.line("that it watches") { $0 == "watching" }
        return FolderWatch(process)
    }

    private init(_ process: RunningProcess) { self.process = process }

    deinit { process.send(SIGKILL) }

    /// Events so far.
    var events: [String] { Array(process.lines.dropFirst()) }

    func count(_ kind: String) -> Int { events.count { $0.hasPrefix(kind + " ") } }

    func waitFor(_ event: String, within limit: Duration = .seconds(30)) async throws {
        do {
            try await wait(until: "watchers are told of \(event)", within: limit) { events.contains(event) }
        } catch {
            throw WaitedInVain("\(error); they were told \(events.suffix(20))")
        }
    }

    private static let script = """
        import ctypes, os, struct, sys

        libc = ctypes.CDLL(None, use_errno=True)
        # As file managers do: creations, deletions, renames, attributes.
        names = {0x4: "ATTRIB", 0x40: "MOVED_FROM", 0x80: "MOVED_TO", 0x100: "CREATE", 0x200: "DELETE",
                 0x400: "DELETE_SELF", 0x4000: "OVERFLOW", 0x8000: "IGNORED", 0x2000: "UNMOUNT"}
        watch = libc.inotify_init()
        assert libc.inotify_add_watch(watch, sys.argv[1].encode(), 0x7c4) >= 0, ctypes.get_errno()
        print("watching", flush=True)
        while True:
            data = os.read(watch, 1 << 16)
            lines, position = [], 0
            while position < len(data):
                _, mask, _, length = struct.unpack_from("iIII", data, position)
                name = data[position + 16:position + 16 + length].rstrip(b"\\0").decode()
                folder = " folder" if mask & 0x40000000 else ""
                for bit, word in names.items():
                    if mask & bit: lines.append(f"{word} {name}{folder}")
                position += 16 + length
            print("\\n".join(lines), flush=True)
        """
}
