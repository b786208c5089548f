import Glibc
import Posix

/// `rclone mount --vfs-cache-mode full` of a folder behind `rclone serve webdav` on this machine: a common remote
/// filesystem without encryption.
struct Rclone: Sendable {
    static let name = "rclone mount"
    private static let program = "/usr/bin/rclone"
    private let stage: Stage
    private let port: UInt16

    /// Serves the folder `source`.
    static func serve(_ source: String, on stage: Stage) async throws -> Rclone {
        guard access(program, X_OK) == 0 else {
            throw BenchError(.missing, "rclone is not installed (package rclone).")
        }
        let port = try LocalPort.free()
        _ = try await stage.start(
            program, ["serve", "webdav", source, "--addr", "127.0.0.1:\(port)", "--config", "/dev/null"])
        try await stage.wait(for: "rclone's WebDAV server") { try LocalPort.isOpen(port) }
        return Rclone(stage: stage, port: port)
    }

    /// Mounts it with an empty cache.
    func mount(_ number: Int) async throws -> Mounted {
        let path = try stage.makeFolder("rclone-\(number)")
        let process = try await stage.start(
            Self.program,
            [
                "mount", ":webdav,url=\"http://127.0.0.1:\(port)/\":", path, "--config", "/dev/null",
                "--cache-dir", try stage.makeFolder("rclone-cache-\(number)"), "--vfs-cache-mode", "full",
            ])
        return try await Mounted.waiting(for: process, at: path, type: "fuse.rclone", on: stage)
    }
}
