import Posix

extension Measure {
    /// One file of 1 GiB, sent once to a group; every repetition is another member, whose mount has just been
    /// made and has nothing of it.
    static let cold = Measure(
        name: "cold", abstract: "first byte and sequential read of a cold 1 GiB, its memory and CPU"
    ) { stage in
        let size = stage.plan.hugeFile
        let label = "\(size >> 20) MiB"
        let members = (0..<stage.plan.repetitions).map { "member\($0)" }
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice"] + members, on: stage)
        let plain = stage.plain("huge.bin")
        try await ThreadPool.shared.run { try FileWork.make(plain, size: size, seed: 1) }
        let alice = try await chats.mount("alice", relays: [relay.address])
        _ = try await chats.send(plain, as: "huge.bin", from: alice)
        let senderMemory = try alice.figures.peakMemory()
        await stage.end(alice.process)

        var ours = Samples()
        var native = Samples()
        for member in members {
            let mount = try await chats.mount(member, relays: [relay.address])
            try await stage.settleWithMemory()
            try await take(member: mount, size: size, on: stage, into: &ours)
            await stage.end(mount.process)
            let reading = try await ThreadPool.shared.run { () throws(SystemError) in
                try FileWork.settle(plain)
                return try FileWork.read(plain)
            }
            native.add(reading, size)
            guard reading.sum == ours.sums.last else {
                throw BenchError(.wrong, "The mount gave other bytes than were sent.")
            }
            native.processor.append(
                try await ThreadPool.shared.run { try Primitives.secondsPerGibibyte() })
        }
        return [
            Row(
                "first-byte", "first byte of a cold \(label)", .milliseconds, ours.first,
                beside: Reference(plainName, native.first), target: .atMost(25)),
            Row(
                "cold-read", "cold sequential read of \(label)", .megabytesPerSecond, ours.rate,
                beside: Reference(plainName, native.rate), target: .atLeast(300)),
            Row(
                "memory", "memory above idle while \(label) is hydrated", .mebibytes, ours.memory,
                target: .atMost(50)),
            Row(
                "receiver-memory", "peak memory of the mount that receives \(label)", .mebibytes, ours.peak,
                target: .atMost(64)),
            Row(
                "sender-memory", "peak memory of the mount that sent it", .mebibytes,
                [senderMemory / 1_048_576], target: .atMost(64)),
            Row(
                "relay-memory", "peak memory of the relay between them", .mebibytes,
                [try ProcessFigures(process: relay.process.identifier).peakMemory() / 1_048_576],
                target: .atMost(64)),
            Row(
                "cpu", "processor time to hydrate", .secondsPerGibibyte, ours.processor,
                beside: Reference(Primitives.name, native.processor), target: .ratioAtMost(1.5)),
        ]
    }

    /// What plain files on the same disk are called in the report.
    static let plainName = "plain filesystem"

    private struct Samples: Sendable {
        var first: [Double] = []
        var rate: [Double] = []
        var memory: [Double] = []
        var peak: [Double] = []
        var processor: [Double] = []
        var sums: [UInt64] = []

        mutating func add(_ reading: FileWork.Reading, _ size: Int) {
            first.append(reading.first * 1000)
            rate.append(reading.whole.megabytesPerSecond(of: size))
            sums.append(reading.sum)
        }
    }

    private static func take(
        member mount: Mounted, size: Int, on stage: Stage, into samples: inout Samples
    ) async throws {
        let path = mount.inGroup("huge.bin")
        try await mount.figures.rest(on: stage)
        let idle = try mount.figures.memory()
        let before = try mount.figures.processorTime()
        samples.add(
            try await ThreadPool.shared.run { () throws(SystemError) in try FileWork.read(path) }, size)
        // The last bytes of the CryptoFile and the check of the whole belong to it.
        try await mount.figures.rest(on: stage)
        samples.processor.append(
            (try mount.figures.processorTime() - before) * Double(1 << 30) / Double(size))
        let peak = try mount.figures.peakMemory()
        samples.memory.append((peak - idle) / 1_048_576)
        samples.peak.append(peak / 1_048_576)
    }
}
