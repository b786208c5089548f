import Posix

/// The same file through rclone, which also encrypts, and through a chat: copied in, read cold and again.
struct RcloneMeasure: Measure {
    let name = "rclone"
    let abstract = "copying in, cold and repeated read beside rclone crypt over WebDAV with TLS"

    private static let rereads = 3

    func take(on stage: Stage) async throws -> [Row] {
        let webdav = try await Rclone.serve(on: stage)
        let size = stage.plan.largeFile
        let source = stage.plain("large.bin")
        try await ThreadPool.shared.run { try FileWork.make(source, size: size, seed: 4) }
        let members = (0..<stage.plan.repetitions).map { "member\($0)" }
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice"] + members, on: stage)
        var figures = RcloneFigures(size: size)
        let alice = try await chats.mount("alice", relays: [relay.address])
        for number in members.indices {
            try await stage.settleWithMemory()
            figures.copyIn.add(try await chats.send(source, as: Self.file(number), from: alice).whole, of: 0)
            try await alice.figures.rest(on: stage)
            try await stage.settleWithMemory()
            figures.copyIn.add(try await webdav.copy(source, as: Self.file(number)), of: 1)
        }
        await stage.end(alice.process)
        for (number, member) in members.enumerated() {
            let mounts = [
                try await chats.mount(member, relays: [relay.address]), try await webdav.mount(number),
            ]
            let paths = [mounts[0].inGroup(Self.file(number)), mounts[1].file(Self.file(number))]
            var sums: Set<UInt64> = []
            for (subject, path) in paths.enumerated() {
                try await stage.settleWithMemory()
                let reading = try await ThreadPool.shared.run { try FileWork.read(path) }
                figures.cold.add(reading.whole, of: subject)
                figures.first.add(reading.first, of: subject)
                sums.insert(reading.sum)
            }
            guard sums.count == 1 else {
                throw BenchError(.wrong, "The two mounts gave different bytes.")
            }
            for mount in mounts { try await mount.figures.rest(on: stage) }
            try await stage.settle()
            // Several: the first one also makes the kernel move all pages to its active list.
            for _ in 0..<Self.rereads {
                for (subject, path) in paths.enumerated() {
                    let seconds = try await ThreadPool.shared.run { try FileWork.read(path).whole }
                    figures.again.add(seconds, of: subject)
                }
            }
            for mount in mounts.reversed() { await stage.end(mount.process) }
        }
        return figures.rows
    }

    /// Each repetition has a file of its own.
    private static func file(_ number: Int) -> String { "large-\(number).bin" }
}

/// Seconds of both: ours first.
private struct RcloneFigures: Sendable {
    let size: Int
    var copyIn = SampleTable(subjects: 2)
    var first = SampleTable(subjects: 2)
    var cold = SampleTable(subjects: 2)
    var again = SampleTable(subjects: 2)

    init(size: Int) { self.size = size }

    var rows: [Row] {
        let label = "\(size >> 20) MiB"
        return [
            rate("copy-in", "copied in until the relay has it, \(label)", copyIn, atLeast: 1.2),
            Row(
                "first-byte", "first byte of a cold \(label)", .milliseconds, first[0].map { $0 * 1000 },
                beside: Reference(Rclone.name, first[1].map { $0 * 1000 }), target: .ratioAtMost(1)),
            rate("cold-read", "cold sequential read of \(label)", cold, atLeast: 1.2),
            rate("reread", "warm re-read of \(label)", again, atLeast: 9),
        ]
    }

    private func rate(_ name: String, _ title: String, _ seconds: SampleTable, atLeast bound: Double) -> Row {
        Row(
            name, title, .megabytesPerSecond, seconds[0].map { $0.megabytesPerSecond(of: size) },
            beside: Reference(Rclone.name, seconds[1].map { $0.megabytesPerSecond(of: size) }),
            target: .ratioAtLeast(bound))
    }
}
