import Posix

/// A mount and the process behind it, of chatfs or of what it is compared with.
struct Mounted: Sendable {
    let path: String
    let process: ObservedProcess

    /// Waits until `process` has mounted something of this type at `path`.
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
