import Posix

/// A file of 1 GiB, sent once to a group. Each repetition uses another member with a new mount without local data.
struct ColdMeasure: Measure {
    let name = "cold"
    let abstract = "first byte and sequential read of a cold 1 GiB, its memory and CPU"

    func take(on stage: Stage) async throws -> [Row] {
        let file = try await SentFile.send(
            "huge.bin", size: stage.plan.hugeFile, seed: 1, members: stage.plan.repetitions, on: stage)
        var figures = ColdFigures(size: file.size)
        for member in file.members {
            let mount = try await file.mount(member)
            try await stage.settleWithMemory()
            let reading = try await figures.add(file.path(on: mount), on: mount, stage)
            await stage.end(mount.process)
            let native = try await ThreadPool.shared.run { () throws(SystemError) in
                try FileWork.settle(file.plain)
                return try FileWork.read(file.plain)
            }
            try reading.requireSum(native.sum)
            figures.add(
                native, primitives: try await ThreadPool.shared.run { try Primitives.secondsPerGibibyte() })
        }
        let relay = ProcessFigures(process: file.relay.process.identifier)
        return figures.rows(sender: file.senderMemory, relay: try relay.peakMemory())
    }
}

/// The figures of cold files.
struct ColdFigures: Sendable {
    private let size: Int
    private var ours = Samples()
    private var native = Samples()
    private var memory: [Double] = []
    private var peak: [Double] = []
    private var processor: [Double] = []
    private var primitives: [Double] = []

    private struct Samples: Sendable {
        var first: [Double] = []
        var rate: [Double] = []

        mutating func add(_ reading: FileWork.Reading, _ size: Int) {
            first.append(reading.first * 1000)
            rate.append(reading.whole.megabytesPerSecond(of: size))
        }
    }

    init(size: Int) { self.size = size }

    /// Reads the file on an unused mount.
    mutating func add(
        _ path: String, on mount: Mounted, _ stage: Stage
    ) async throws -> FileWork.Reading {
        try await mount.figures.rest(on: stage)
        let idle = try mount.figures.memory()
        let before = try mount.figures.processorTime()
        let reading = try await ThreadPool.shared.run { () throws(SystemError) in
            try FileWork.read(path)
        }
        ours.add(reading, size)
        // The last bytes of the CryptoFile and the final check belong to it.
        try await mount.figures.rest(on: stage)
        processor.append((try mount.figures.processorTime() - before) * Double(1 << 30) / Double(size))
        let most = try mount.figures.peakMemory()
        memory.append((most - idle) / 1_048_576)
        peak.append(most / 1_048_576)
        return reading
    }

    /// - Parameter primitives: The processor seconds of the cryptography alone for a GiB.
    mutating func add(_ native: FileWork.Reading, primitives: Double) {
        self.native.add(native, size)
        self.primitives.append(primitives)
    }

    /// - Parameters:
    ///   - sender: The maximum bytes of memory of the sending mount.
    ///   - relay: The same of the relay.
    func rows(sender: Double, relay: Double) -> [Row] {
        let label = "\(size >> 20) MiB"
        return [
            Row(
                "first-byte", "first byte of a cold \(label)", .milliseconds, ours.first,
                beside: Reference(PlainFiles.name, native.first), target: .atMost(25)),
            Row(
                "cold-read", "cold sequential read of \(label)", .megabytesPerSecond, ours.rate,
                beside: Reference(PlainFiles.name, native.rate), target: .atLeast(300)),
            Row(
                "memory", "memory above idle while \(label) is hydrated", .mebibytes, memory,
                target: .atMost(50)),
            Row(
                "receiver-memory", "peak memory of the mount that receives \(label)", .mebibytes, peak,
                target: .atMost(64)),
            Row(
                "sender-memory", "peak memory of the mount that sent it", .mebibytes, [sender / 1_048_576],
                target: .atMost(64)),
            Row(
                "relay-memory", "peak memory of the relay between them", .mebibytes, [relay / 1_048_576],
                target: .atMost(64)),
            Row(
                "cpu", "processor time to hydrate", .secondsPerGibibyte, processor,
                beside: Reference(Primitives.name, primitives), target: .ratioAtMost(1.5)),
        ]
    }
}
