import Glibc
import Posix
import TestSupport

/// Runs the daemon on a state of the disk: it mounts both profiles, serves the promised files, and ends cleanly.
struct Remount {
    /// The folder with a copy of the state.
    let folder: String

    func problems(_ promises: Promises) async -> [String] {
        do {
            return try await problems(of: "alice", promises) + problems(of: "bob", promises)
        } catch {
            return ["\(error)"]
        }
    }

    private func problems(of profile: String, _ promises: Promises) async throws -> [String] {
        let mountpoint = "\(folder).\(profile)"
        try check("make a folder") { mkdir(mountpoint, 0o700) }
        let daemon = try await ChatFSProcess.start([
            "mount", mountpoint, "--profile", profile, "--data", folder, "--cache-dir", folder + ".cache",
        ])
        try await daemon.line("that it is mounted") { $0.contains("is mounted at") }
        let chat = mountpoint + (profile == "alice" ? "/bob" : "/alice")
        var problems: [String] = []
        for name in promises.kinds.keys {
            let isHere = profile == "alice" ? promises.holds(.sent, name) : promises.holds(.stored, name)
            guard isHere, name != "note.txt" else { continue }
            do {
                let bytes = try OpenFile(chat + "/" + name, flags: O_RDONLY).readAll(limit: 1 << 20)
                if bytes != ScriptedDay.content(of: name) { problems.append("\(name) has other bytes") }
            } catch {
                problems.append(
                    "\(profile)'s \(name): \(error) Beside it: \(names(in: chat)). \(daemon.errors)")
            }
        }
        let ending = try await daemon.terminate()
        if ending != .code(0) {
            problems.append("the daemon of \(profile) ended with \(ending): \(daemon.errors)")
        }
        rmdir(mountpoint)
        return problems
    }

    private func names(in folder: String) -> String {
        do {
            return try PrivateFolder.names(in: OpenFile(folder, flags: O_RDONLY | O_DIRECTORY)).joined(
                separator: ", ")
        } catch {
            return "\(error)"
        }
    }
}
