import Posix

/// Files of 256 MiB between two mounts and a relay behind a line of 80 ms and 100 MB/s.
struct FarMeasure: Measure {
    let name = "far"
    let abstract =
        "256 MiB and first bytes over a line of 80 ms and 100 MB/s"
    let limit = Duration.seconds(900)

    func take(on stage: Stage) async throws -> [Row] {
        let size = stage.plan.largeFile
        let settings = LineSettings()
        let source = stage.plain("source.bin")
        try await ThreadPool.shared.run { try FileWork.make(source, size: size, seed: 9) }
        // Every repetition has its own receiver without a connection.
        let members = (0..<stage.plan.repetitions).map { "member\($0)" }
        let relay = try await OwnRelay.start(on: stage)
        let (address, line) = try DelayLine.ahead(of: relay.address, settings)
        defer { line.close() }
        let chats = try await Chats.make(["alice"] + members, on: stage)
        let alice = try await chats.mount("alice", relays: [address])

        var figures = FarFigures(settings: settings, size: size)
        for member in members {
            let mount = try await chats.mount(member, relays: [address])
            try await figures.send(source, "\(member)-new.bin", chats, alice, mount, on: stage)
            try await figures.send(source, "\(member)-used.bin", chats, alice, mount, on: stage)
            try await figures.read("\(member)-new.bin", source, mount, isNew: true, on: stage)
            try await figures.read("\(member)-used.bin", source, mount, isNew: false, on: stage)
            await stage.end(mount.process)
        }
        return figures.rows
    }
}

extension DelayLine {
    /// A new line, and the address of a relay at its far end.
    fileprivate static func ahead(
        of address: String, _ settings: LineSettings
    ) throws -> (address: String, line: DelayLine) {
        guard let colon = address.lastIndex(of: ":"),
            let port = UInt16(address[address.index(after: colon)...])
        else { throw BenchError(.failed, "The relay's address names no port.") }
        let line = try DelayLine(to: port, settings)
        return (address[...colon] + String(line.port), line)
    }
}

/// The figures over the line.
private struct FarFigures: Sendable {
    let settings: LineSettings
    let size: Int
    private var sent: [Double] = []
    /// On new connections, and on those that carried a file before.
    private var new: [FileWork.Reading] = []
    private var used: [FileWork.Reading] = []

    init(settings: LineSettings, size: Int) {
        self.settings = settings
        self.size = size
    }

    mutating func send(
        _ source: String, _ name: String, _ chats: Chats, _ sender: Mounted, _ receiver: Mounted,
        on stage: Stage
    ) async throws {
        try await stage.settle()
        sent.append(try await chats.send(source, as: name, from: sender, to: receiver).fromQueued)
        try await sender.figures.rest(on: stage)
    }

    mutating func read(
        _ name: String, _ source: String, _ mount: Mounted, isNew: Bool, on stage: Stage
    ) async throws {
        try await stage.settle()
        let path = mount.inGroup(name)
        let (reading, sum) = try await ThreadPool.shared.run { () throws(SystemError) in
            (try FileWork.read(path), try FileWork.read(source).sum)
        }
        try reading.requireSum(sum)
        if isNew { new.append(reading) } else { used.append(reading) }
        try await mount.figures.rest(on: stage)
    }

    var rows: [Row] {
        let label = "\(size >> 20) MiB"
        let far = "80 ms, 100 MB/s"
        func rates(_ seconds: [Double]) -> [Double] { seconds.map { $0.megabytesPerSecond(of: size) } }
        let aim = Target.atLeast(Double(settings.rate) / 1e6 * 0.85)
        let upload = "upload of \(label), queued to sent, \(far)"
        let read = "cold sequential read of \(label), \(far)"
        let first = "first byte of a cold \(label), \(far)"
        return [
            Row("far-upload", upload, .megabytesPerSecond, rates(sent), target: aim),
            Row("far-read", read, .megabytesPerSecond, rates(used.map(\.whole)), target: aim),
            Row(
                "far-read-new", read + ", new connections", .megabytesPerSecond, rates(new.map(\.whole))),
            Row(
                "far-first-byte", first, .milliseconds, used.map { $0.first * 1000 },
                target: .atMost(milliseconds(needed(isNew: false)))),
            Row(
                "far-first-byte-new", first + ", new connection", .milliseconds, new.map { $0.first * 1000 },
                target: .atMost(milliseconds(needed(isNew: true)))),
        ]
    }

    /// The minimum time to the first byte of a file in chunks of 4 MiB. It consists of the round trips of TCP, TLS, the
    /// hellos and the request by slow start, the windows of the chunk, and half a round trip for all work at both ends.
    /// The request waits for the answer to the client's hello, because the official relay serves the requests of a
    /// connection concurrently.
    private func needed(isNew: Bool) -> Duration {
        let (block, chunk) = (16_384 + 64, 4 << 20)
        var (rounds, window) = (1, settings.maxWindow)
        if isNew {
            // TLS: the bytes of both sides in the handshake, which open their windows as well.
            var (up, down) = (settings.firstWindow + 400, settings.firstWindow + 1500)
            rounds = 2 + settings.rounds(for: block, window: &down)
            rounds += settings.rounds(for: block, window: &up) + settings.rounds(for: block, window: &up)
            window = down
        }
        return settings.roundTrip * rounds + settings.time(forPayload: block + chunk, window: window)
            + settings.roundTrip / 2
    }

    private func milliseconds(_ duration: Duration) -> Double { duration / .milliseconds(1) }
}
