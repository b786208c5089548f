import Posix

/// The most memory that the relay and both mounts need while the largest file of a chat goes through.
enum MemoryMeasure {
    static func run(_ stage: Stage) async throws -> [Row] {
        let size = stage.plan.hugeFile
        _ = try await TransferMeasures.upload(stage, "huge-1.bin", size)
        let path = stage.path("bob", "alice", "huge-1.bin")
        _ = try await TransferMeasures.onPool { try Work.read(path) }
        let names = ["relay", "mount that sends", "mount that receives"]
        let processes = zip(names, [stage.relay] + stage.mounts)
        return try processes.map { name, process in
            guard let peak = Machine.peakMemory(of: process.identifier) else {
                throw BenchError("The \(name) was gone before its memory was read.")
            }
            return Row(.memory, "peak memory of the \(name), \(size >> 20) MiB", "MiB", [peak / 1_048_576])
        }
    }
}
