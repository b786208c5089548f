import Posix

/// Small files that came inside their messages and were read once.
struct SmallMeasure: Measure {
    let name = "small"
    let abstract =
        "open, read and close of small hydrated files"

    func take(on stage: Stage) async throws -> [Row] {
        let count = stage.plan.smallFiles
        let program = try await Passthrough.build(on: stage)
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice", "bob"], on: stage)
        let alice = try await chats.mount("alice", relays: [relay.address])
        let bob = try await chats.mount("bob", relays: [relay.address])
        let group = alice.inGroup("")
        let plain = try stage.makeFolder("plain/small")
        for folder in [group, plain] { try await NameWork.fill(folder, count: count, size: 4096) }
        let received = bob.inGroup("")
        try await stage.wait(for: "the files at their receiver") {
            try NameWork.paths(in: received).count == count
        }
        await stage.end(alice.process)
        let passthrough = try await Passthrough.mount(program, plain, on: stage)
        let sets = try await ThreadPool.shared.run { () throws(SystemError) in
            let sets = try [received, passthrough.path].map(NameWork.paths)
            for set in sets { _ = try NameWork.openReadClose(set, rounds: 1) }
            return sets
        }
        try await bob.figures.rest(on: stage)

        var times = SampleTable(subjects: sets.count)
        for _ in 0..<stage.plan.repetitions {
            for (subject, set) in sets.enumerated() {
                times.add(
                    try await ThreadPool.shared.run { try NameWork.openReadClose(set, rounds: 10) },
                    of: subject)
            }
        }
        let title = "open, read and close a hydrated file of 4 KiB"
        return [
            Row(
                "small-open", title, .microseconds, times[0], beside: Reference(Passthrough.name, times[1]),
                target: .ratioAtMost(1.2))
        ]
    }
}
