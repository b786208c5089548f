import Glibc
import Posix
import TestSupport

/// A disk that can be filled: for root a tmpfs, for others a size limit on the files of the writing processes. The
/// limit gives EFBIG where a disk gives ENOSPC, at any write.
final class SmallDisk {
    private let path: String
    let isLimit = geteuid() != 0
    private var processes: [pid_t] = []
    private(set) var isFull = false

    /// - Parameter size: As for mount(8); more options may follow after a comma.
    init(at path: String, size: String) async throws {
        self.path = path
        guard !isLimit else { return }
        let outcome = try await Shell.run(
            "mount", ["-t", "tmpfs", "-o", "size=\(size),mode=700", "tmpfs", path])
        guard outcome.succeeded else { throw WaitedInVain("mount: \(outcome.errors)") }
    }

    /// Without a tmpfs, limits the files of these processes to `size` bytes.
    func limit(to size: Int, for processes: [pid_t]) async throws {
        self.processes = processes
        if isLimit { try await setLimit("\(size)") }
    }

    /// Fills the disk except for `bytes`. Root only.
    func fill(leaving bytes: Int) async throws {
        try await fill(for: [])
        var status = stat()
        try check("look at the filler") { stat(path + "/filler", &status) }
        try check("give room back") { truncate(path + "/filler", status.st_size - bytes) }
    }

    /// Fills the disk for all writers and for these processes.
    func fill(for processes: [pid_t]) async throws {
        self.processes = processes
        isFull = true
        if isLimit { return try await setLimit("4096") }
        let outcome = try await Shell.script("cat /dev/zero >> '\(path)/filler'", limit: .seconds(60))
        guard !outcome.succeeded else { throw WaitedInVain("the disk has no end") }
    }

    /// Frees the space.
    func free() async throws {
        isFull = false
        if isLimit { return try await setLimit("unlimited") }
        unlink(path + "/filler")
    }

    /// Runs a command for which the disk is full too.
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
