import Posix

/// A mount of chatfs or of a reference, and its process.
struct Mounted: Sendable {
    let path: String
    let process: ObservedProcess

    /// Waits until `process` has mounted a filesystem of this type at `path`.
    static func waiting(
        for process: ObservedProcess, at path: String, type: String, on stage: Stage
    ) async throws -> Mounted {
        try await stage.wait(for: "the mount") {
            try MountTable.mounts(below: path).contains { $0.type == type }
        }
        return Mounted(path: path, process: process)
    }

    func file(_ name: String) -> String { path + "/" + name }
}

extension Stage {
    /// Mounts with `chatfs mount` and these options. The mountpoint and the cache belong to the name.
    func mount(_ name: String, _ options: [String]) async throws -> Mounted {
        let mountpoint = try makeFolder("mount-" + name)
        let process = try await start(
            Self.chatfs,
            ["mount", mountpoint, "--notifications", "off", "--cache-dir", path("cache-" + name)] + options)
        return try await Mounted.waiting(for: process, at: mountpoint, type: "fuse.chatfs", on: self)
    }
}
