import Glibc
import Posix

/// Operations that the kernel answers itself: pages of a file that was read, attributes of names that were looked up.
/// The daemon counts the requests that still reach it.
struct WarmMeasure: Measure {
    let name = "warm"
    let abstract =
        "warm re-read, random 4 KiB and cached stat, and the requests they make"

    func take(on stage: Stage) async throws -> [Row] {
        let size = stage.plan.largeFile
        let names = stage.plan.entries / 10
        let (mount, subjects) = try await makeSubjects(size: size, names: names, on: stage)
        var figures = WarmFigures(size: size, names: names)
        let reads = stage.plan.randomReads
        for _ in 0..<stage.plan.repetitions {
            for (number, subject) in subjects.enumerated() {
                let work: @Sendable () throws -> WarmSubject.Figures = {
                    try subject.measure(size: size, reads: reads)
                }
                if number == 0 {
                    let counted = try await MountCounters(mount: mount).requests(while: work)
                    figures.add(counted.result, of: number, requests: counted.count)
                } else {
                    figures.add(try await ThreadPool.shared.run(work), of: number)
                }
            }
        }
        return figures.rows
    }

    /// The subjects: a mount of chatfs and the passthrough filesystem; and that mount, which has all data and is idle.
    private func makeSubjects(
        size: Int, names: Int, on stage: Stage
    ) async throws -> (mount: Mounted, subjects: [WarmSubject]) {
        let plain = stage.plain("large.bin")
        try await ThreadPool.shared.run { try FileWork.make(plain, size: size, seed: 6) }
        let program = try await Passthrough.build(on: stage)
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice", "bob"], on: stage)
        let alice = try await chats.mount("alice", relays: [relay.address])
        let bob = try await chats.mount("bob", relays: [relay.address])
        _ = try await chats.send(plain, as: "large.bin", from: alice, to: bob)
        let folders = [bob.file("Saved notes"), try stage.makeFolder("plain/names")]
        for folder in folders { try await NameWork.fill(folder, count: names) }
        try await stage.waitForNotes(in: folders[0], count: names)

        let passthrough = try await Passthrough.mount(program, stage.path("plain"), on: stage)
        let places = [
            (bob.inGroup("large.bin"), folders[0]),
            (passthrough.file("large.bin"), passthrough.file("names")),
        ]
        let subjects = try await ThreadPool.shared.run { () throws(SystemError) in
            try places.map { (file, folder) throws(SystemError) in
                _ = try FileWork.read(file)
                return WarmSubject(
                    file: try OpenFile(file, flags: O_RDONLY), paths: try NameWork.paths(in: folder))
            }
        }
        try await bob.figures.rest(on: stage)
        return (bob, subjects)
    }
}

/// The figures of the two subjects: a mount of chatfs and the passthrough filesystem.
struct WarmFigures: Sendable {
    private let size: Int
    private let names: Int
    private var reread = SampleTable(subjects: 2)
    private var random = SampleTable(subjects: 2)
    private var stat = SampleTable(subjects: 2)
    private var requests: [Double] = []

    /// - Parameters:
    ///   - size: The size of the file in bytes.
    ///   - names: The number of names.
    init(size: Int, names: Int) {
        self.size = size
        self.names = names
    }

    /// - Parameter requests: The number of requests that reached the daemon.
    mutating func add(_ figures: WarmSubject.Figures, of subject: Int, requests: Int? = nil) {
        reread.add(figures.reread, of: subject)
        random.add(figures.random, of: subject)
        stat.add(figures.stat, of: subject)
        if let requests { self.requests.append(Double(requests)) }
    }

    var rows: [Row] {
        [
            row("reread", "warm re-read of \(size >> 20) MiB", .megabytesPerSecond, reread),
            row("stat", "cached stat, \(names) entries", .perSecond, stat),
            row("random", "warm random 4 KiB", .perSecond, random),
            Row(
                "warm-requests", "requests that reach the daemon in one round of these three", .requests,
                requests, target: .atMost(0)),
        ]
    }

    private func row(_ name: String, _ title: String, _ unit: Unit, _ samples: SampleTable) -> Row {
        Row(
            name, title, unit, samples[0], beside: Reference(Passthrough.name, samples[1]),
            target: .asReference)
    }
}

/// A file and a folder for repeated reads.
struct WarmSubject: Sendable {
    let file: OpenFile
    let paths: [String]

    struct Figures: Sendable {
        let reread: Double
        let random: Double
        let stat: Double
    }

    func measure(size: Int, reads: Int) throws(SystemError) -> Figures {
        Figures(
            reread: try FileWork.readThrough(file).megabytesPerSecond(of: size),
            random: try FileWork.randomReads(file, size: size, count: reads),
            stat: try NameWork.statRate(paths, rounds: 20))
    }
}

extension Stage {
    /// Waits until the copied notes are no longer drafts, whose attributes change.
    func waitForNotes(in folder: String, count: Int) async throws {
        for number in 0..<count {
            let path = "\(folder)/note \(number).txt"
            try await wait(for: "the notes") {
                !["draft", "queued", "sending"].contains(
                    try ExtendedAttribute.text("user.chatfs.state", of: path))
            }
        }
    }
}
