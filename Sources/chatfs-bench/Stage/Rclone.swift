import Base
import Glibc
import Posix

/// rclone with `crypt` over a WebDAV server with TLS on this machine: a remote filesystem with end-to-end encryption. The
/// server is rclone's own and keeps the encrypted files in a folder of the stage.
struct Rclone: Sendable {
    static let name = "rclone crypt"
    private static let program = "/usr/bin/rclone"
    /// Makes the certificate.
    private static let openssl = "/usr/bin/openssl"
    private let stage: Stage
    /// Names the remotes for rclone.
    private let environment: [String: String?]

    /// Serves an empty folder.
    static func serve(on stage: Stage) async throws -> Rclone {
        guard access(program, X_OK) == 0 else {
            throw BenchError(.missing, "rclone is not installed (package rclone).")
        }
        guard access(openssl, X_OK) == 0 else {
            throw BenchError(.missing, "openssl is not installed (package openssl).")
        }
        let (certificate, key) = (stage.path("rclone.crt"), stage.path("rclone.key"))
        try await stage.run(
            openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                certificate,
            ])
        let port = try LocalPort.free()
        _ = try await stage.start(
            program,
            [
                "serve", "webdav", try stage.makeFolder("rclone-remote"), "--addr", "127.0.0.1:\(port)",
                "--cert",
                certificate, "--key", key, "--config", "/dev/null",
            ])
        try await stage.wait(for: "rclone's WebDAV server") { LocalPort.isOpen(port) }
        // rclone wants passwords in a form of its own.
        let password = try await stage.run(
            program, ["obscure", Hexadecimal.encode(SystemRandomSource().bytes(16)), "--config", "/dev/null"])
        return Rclone(
            stage: stage,
            environment: [
                "RCLONE_CA_CERT": certificate, "RCLONE_CONFIG": "/dev/null",
                "RCLONE_CONFIG_DAV_TYPE": "webdav",
                "RCLONE_CONFIG_DAV_URL": "https://127.0.0.1:\(port)/",
                "RCLONE_CONFIG_SECRET_TYPE": "crypt", "RCLONE_CONFIG_SECRET_REMOTE": "dav:",
                "RCLONE_CONFIG_SECRET_PASSWORD": String(password.prefix { !$0.isNewline }),
            ])
    }

    /// Copies a file in. Returns the seconds until the server has it.
    func copy(_ source: String, as name: String) async throws -> Double {
        let start = ContinuousClock.now
        try await stage.run(Self.program, ["copyto", source, "secret:" + name], environment: environment)
        return FileWork.seconds(since: start)
    }

    /// Mounts it with an empty cache.
    func mount(_ number: Int) async throws -> Mounted {
        let path = try stage.makeFolder("rclone-\(number)")
        let process = try await stage.start(
            Self.program,
            [
                "mount", "secret:", path, "--cache-dir", try stage.makeFolder("rclone-cache-\(number)"),
                "--vfs-cache-mode", "full",
            ], environment: environment)
        return try await Mounted.waiting(for: process, at: path, type: "fuse.rclone", on: stage)
    }
}
