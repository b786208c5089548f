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
