import Posix

/// The same file through chatfs and through the official programs, as released and without Nagle's algorithm; both also
/// through the official relay as released.
struct OfficialMeasure: Measure {
    let name = "official"
    let abstract =
        "upload and cold read beside the official xftp, and through its relay"
    let limit = Duration.seconds(900)

    func take(on stage: Stage) async throws -> [Row] {
        let released = try OfficialPrograms.find(stage.plan)
        let hurried = try await released.withoutDelay(on: stage)
        let relay = try await OwnRelay.start(on: stage)
        let releasedRelay = try await OfficialRelay.start(released, "released", on: stage)
        let hurriedRelay = try await OfficialRelay.start(hurried, "hurried", on: stage)
        let size = try await fittingSize(
            [(released, releasedRelay, "released"), (hurried, hurriedRelay, "hurried")], on: stage)
        let source = stage.plain("source.bin")
        try await ThreadPool.shared.run { try FileWork.make(source, size: size, seed: 7) }
        // One sender for each relay, in one group with the receiver.
        let chats = try await Chats.make(["alice", "anna", "bob"], on: stage)
        let bob = try await chats.mount("bob", relays: [relay.address, releasedRelay.address])
        let alice = try await chats.mount("alice", relays: [relay.address])
        let anna = try await chats.mount("anna", relays: [releasedRelay.address])

        var figures = OfficialFigures(size: size)
        for repetition in 0..<stage.plan.repetitions {
            figures.ours.add(
                try await exchange(source, "own-\(repetition).bin", chats, alice, bob, on: stage), size)
            figures.theirs.add(
                try await released.exchange(
                    source, through: releasedRelay.address, named: "released-\(repetition)", on: stage), size)
            figures.throughTheirs.add(
                try await exchange(source, "official-\(repetition).bin", chats, anna, bob, on: stage), size)
            figures.theirsHurried.add(
                try await hurried.exchange(
                    source, through: hurriedRelay.address, named: "hurried-\(repetition)", on: stage), size)
        }
        return figures.rows
    }

    /// The largest file of the plan that all repetitions finish in four minutes, estimated from a small one; otherwise
    /// the smallest.
    private func fittingSize(
        _ sides: [(OfficialPrograms, OfficialRelay, String)], on stage: Stage
    ) async throws -> Int {
        let sizes = stage.plan.officialFiles
        guard sizes.count > 1 else { return sizes[0] }
        let trial = 16 << 20
        let source = stage.plain("trial.bin")
        try await ThreadPool.shared.run { try FileWork.make(source, size: trial, seed: 8) }
        var seconds = 0.0
        for (programs, relay, name) in sides {
            let taken = try await programs.exchange(
                source, through: relay.address, named: "trial-" + name, on: stage)
            seconds += taken.send + taken.receive
        }
        let perByte = seconds / Double(trial) * Double(stage.plan.repetitions)
        return sizes.first { perByte * Double($0) < 240 } ?? sizes[sizes.count - 1]
    }

    private func exchange(
        _ source: String, _ name: String, _ chats: Chats, _ sender: Mounted, _ receiver: Mounted,
        on stage: Stage
    ) async throws -> (send: Double, receive: Double) {
        try await stage.settle()
        let sending = try await chats.send(source, as: name, from: sender, to: receiver)
        try await stage.settle()
        let path = receiver.inGroup(name)
        let reading = try await ThreadPool.shared.run { try FileWork.read(path) }
        try reading.requireSum(try await ThreadPool.shared.run { try FileWork.read(source).sum })
        try await receiver.figures.rest(on: stage)
        return (sending.fromQueued, reading.whole)
    }
}

/// The figures of our programs and of the official ones.
struct OfficialFigures: Sendable {
    let size: Int
    /// Through our relay, and through the official one as released.
    var ours = Rates()
    var throughTheirs = Rates()
    /// As released, and without Nagle's algorithm.
    var theirs = Rates()
    var theirsHurried = Rates()

    init(size: Int) { self.size = size }

    struct Rates: Sendable {
        private(set) var sent: [Double] = []
        private(set) var received: [Double] = []

        mutating func add(_ seconds: (send: Double, receive: Double), _ size: Int) {
            sent.append(seconds.send.megabytesPerSecond(of: size))
            received.append(seconds.receive.megabytesPerSecond(of: size))
        }
    }

    var rows: [Row] {
        let label = "\(size >> 20) MiB"
        let (read, upload) = ("cold sequential read of \(label)", "upload of \(label), queued to sent")
        let through = ", official relay"
        return [
            row("cold-read", read, ours.received, "xftp recv, TCP_NODELAY", theirsHurried.received, 5),
            row("cold-read", read, ours.received, "xftp recv as released", theirs.received, 12),
            row("upload", upload, ours.sent, "xftp send, TCP_NODELAY", theirsHurried.sent, 5),
            row("upload", upload, ours.sent, "xftp send as released", theirs.sent, 12),
            row(
                "cold-read-official-relay", read + through, throughTheirs.received, "xftp recv as released",
                theirs.received, 4),
            row(
                "upload-official-relay", upload + through, throughTheirs.sent, "xftp send as released",
                theirs.sent, 4),
        ]
    }

    private func row(
        _ name: String, _ title: String, _ samples: [Double], _ other: String, _ others: [Double],
        _ bound: Double
    ) -> Row {
        Row(
            name, title, .megabytesPerSecond, samples, beside: Reference(other, others),
            target: .ratioAtLeast(bound))
    }
}
