import Glibc
import Posix
import TestSupport

/// A disk that can be filled up: for root a tmpfs of its own at a folder, for others a limit on the
/// size of the files of the processes that write there. The limit gives EFBIG where a disk gives
/// ENOSPC, and both come at any write.
final class SmallDisk {
    private let path: String
    let isLimit = geteuid() != 0
    private var processes: [pid_t] = []
    private(set) var isFull = false

    /// - Parameter size: as mount(8) takes it; more options may follow after a comma.
    init(at path: String, size: String) async throws {
        self.path = path
        guard !isLimit else { return }
        let outcome = try await Shell.run(
            "mount", ["-t", "tmpfs", "-o", "size=\(size),mode=700", "tmpfs", path])
        guard outcome.succeeded else { throw WaitedInVain("mount: \(outcome.errors)") }
    }

    /// Where the size of the disk is no limit yet, lets files of these processes grow to `size` bytes.
    func limit(to size: Int, for processes: [pid_t]) async throws {
        self.processes = processes
        if isLimit { try await setLimit("\(size)") }
    }

    /// Takes all room but so many bytes. For root only.
    func fill(leaving bytes: Int) async throws {
        try await fill(for: [])
        var status = stat()
        try check("look at the filler") { stat(path + "/filler", &status) }
        try check("give room back") { truncate(path + "/filler", status.st_size - bytes) }
    }

    /// Takes all room, for whoever writes there and for these processes.
    func fill(for processes: [pid_t]) async throws {
        self.processes = processes
        isFull = true
        if isLimit { return try await setLimit("4096") }
        let outcome = try await Shell.script("cat /dev/zero >> '\(path)/filler'", limit: .seconds(60))
        guard !outcome.succeeded else { throw WaitedInVain("the disk has no end") }
    }

    /// Gives it back.
    func free() async throws {
        isFull = false
        if isLimit { return try await setLimit("unlimited") }
        unlink(path + "/filler")
    }

    /// Runs a command of the program for which the disk is full as well.
    func run(_ arguments: [String]) async throws -> Shell.Outcome {
        guard isLimit else { return try await ChatFSProcess.run(arguments) }
        return try await Shell.run(
            "prlimit", ["--fsize=4096:", ChatFSProcess.path] + arguments,
            environment: ["CREDENTIALS_DIRECTORY": ChatFSProcess.credentials])
    }

    private func setLimit(_ limit: String) async throws {
        for process in processes {
            let outcome = try await Shell.run("prlimit", ["--pid", "\(process)", "--fsize=\(limit):"])
            guard outcome.succeeded else { throw WaitedInVain("prlimit: \(outcome.errors)") }
        }
    }

    deinit { if !isLimit { umount2(path, Int32(MNT_DETACH)) } }
}
