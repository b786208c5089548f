import Glibc
import Posix

extension Measure {
    /// What the kernel answers by itself: pages of a file that was read, attributes of names that were looked
    /// up. How many requests reach the daemon meanwhile is counted by the daemon.
    static let warm = Measure(
        name: "warm", abstract: "warm re-read, random 4 KiB and cached stat, and the requests they make"
    ) { stage in
        let size = stage.plan.largeFile
        let plain = stage.plain("large.bin")
        try await ThreadPool.shared.run { try FileWork.make(plain, size: size, seed: 6) }
        let program = try await Passthrough.build(on: stage)
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice", "bob"], on: stage)
        let alice = try await chats.mount("alice", relays: [relay.address])
        let bob = try await chats.mount("bob", relays: [relay.address])
        _ = try await chats.send(plain, as: "large.bin", from: alice, to: bob)
        let names = stage.plan.entries / 10
        let folders = [bob.file("Saved notes"), try stage.makeFolder("plain/names")]
        for folder in folders { try await NameWork.fill(folder, count: names) }
        try await stage.waitForNotes(in: folders[0], count: names)

        let passthrough = try await Passthrough.mount(program, stage.path("plain"), on: stage)
        let places = [
            (bob.inGroup("large.bin"), folders[0]),
            (passthrough.file("large.bin"), passthrough.file("names")),
            (plain, folders[1]),
        ]
        let subjects = try await ThreadPool.shared.run { () throws(SystemError) in
            try places.map { (file, folder) throws(SystemError) in
                _ = try FileWork.read(file)
                return WarmSubject(
                    file: try OpenFile(file, flags: O_RDONLY), paths: try NameWork.paths(in: folder))
            }
        }
        try await bob.figures.rest(on: stage)

        var reread = [[Double]](repeating: [], count: 3)
        var random = reread
        var stat = reread
        var requests: [Double] = []
        let reads = stage.plan.randomReads
        for _ in 0..<stage.plan.repetitions {
            for (index, subject) in subjects.enumerated() {
                let work: @Sendable () throws -> WarmSubject.Figures = {
                    try subject.measure(size: size, reads: reads)
                }
                let figures: WarmSubject.Figures
                if index == 0 {
                    let counted = try await MountCounters(mount: bob).requests(while: work)
                    figures = counted.result
                    requests.append(Double(counted.count))
                } else {
                    figures = try await ThreadPool.shared.run(work)
                }
                reread[index].append(figures.reread)
                random[index].append(figures.random)
                stat[index].append(figures.stat)
            }
        }
        func rows(_ name: String, _ title: String, _ unit: Unit, _ samples: [[Double]]) -> [Row] {
            [
                Row(
                    name, title, unit, samples[0], beside: Reference(Passthrough.name, samples[1]),
                    target: .asReference),
                Row(name, title, unit, samples[0], beside: Reference(plainName, samples[2])),
            ]
        }
        return rows("reread", "warm re-read of \(size >> 20) MiB", .megabytesPerSecond, reread)
            + rows("stat", "cached stat, \(names) entries", .perSecond, stat)
            + rows("random", "warm random 4 KiB", .perSecond, random)
            + [
                Row(
                    "warm-requests", "requests that reach the daemon in one round of these three", .requests,
                    requests, target: .atMost(0))
            ]
    }
}

/// A file and a folder that are read again and again.
private struct WarmSubject: Sendable {
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
    /// Waits until the notes that were copied in are no drafts any more, whose attributes move.
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
