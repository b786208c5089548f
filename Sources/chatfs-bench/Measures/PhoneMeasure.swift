import Posix

/// The official program as a phone with a long history.
struct PhoneMeasure: Measure {
    let name = "phone"
    let abstract =
        "a phone with 100,000 files: first chat, listings with and without it, a file beside the bare transfer, memory"
    let limit = Duration.seconds(2400)

    func take(on stage: Stage) async throws -> [Row] {
        let phone = try await PhoneProgram.start(on: stage)
        let repetitions = stage.plan.repetitions
        let large = try await phone.add(
            "large.bin", size: stage.plan.largeFile, seed: 11, copies: repetitions)
        let huge = try await phone.add("huge.bin", size: stage.plan.hugeFile, seed: 12, copies: 1)
        let work = PhoneWork(phone: phone, stage: stage)
        let (computer, first) = try await work.firstChats(repetitions)
        try await work.readHistory(of: computer, expecting: phone.count + large.count + huge.count)
        let listings = try await work.listings(of: computer, repetitions)
        let (through, bare) = try await work.transfers(of: large, computer)
        let memory = try await work.memory(of: huge[0], computer)
        let memoryOfSending = try await work.send(huge[0], computer)
        let listing = "listing of \(phone.count) files in \(phone.chats) chats of a phone"
        let reference = Reference("the same of the embedded core", listings.embedded)
        return [
            Row(
                "phone-first-chat", "confirmed code to the first chat, phone with \(phone.count) files",
                .seconds, first, target: .atMost(2)),
            Row(
                "phone-list", listing, .milliseconds, listings.connected, beside: reference,
                target: .asReference),
            Row(
                "phone-list-away", listing + ", away", .milliseconds, listings.away, beside: reference,
                target: .asReference),
            Row(
                "phone-file", "file of \(stage.plan.largeFile >> 20) MiB from a phone",
                .megabytesPerSecond, through, beside: Reference("the transfer alone", bare),
                target: .ratioAtLeast(0.8)),
            Row(
                "phone-memory", "memory above idle while \(stage.plan.hugeFile >> 20) MiB come from a phone",
                .mebibytes, [memory], target: .atMost(40)),
            Row(
                "phone-send-memory",
                "memory above idle while \(stage.plan.hugeFile >> 20) MiB are copied to a phone", .mebibytes,
                [memoryOfSending], target: .atMost(40)),
        ]
    }
}

/// The parts of the measure.
private struct PhoneWork: Sendable {
    let phone: PhoneProgram
    let stage: Stage

    /// Pairs new computers. Returns the last one, and the seconds for each.
    func firstChats(_ repetitions: Int) async throws -> (PhoneComputer, [Double]) {
        var seconds: [Double] = []
        var computer = PhoneComputer("phone-0", on: stage)
        for repetition in 0..<repetitions {
            computer = PhoneComputer("phone-\(repetition)", on: stage)
            try await stage.settle()
            let (mount, first) = try await computer.mount(phone)
            seconds.append(first)
            await stage.end(mount.process)
        }
        return (computer, seconds)
    }

    /// Waits until the whole history is listed.
    func readHistory(of computer: PhoneComputer, expecting count: Int) async throws {
        let (mount, _) = try await computer.mount(phone)
        let end = ContinuousClock.now + .seconds(1200)
        while try await listed(mount) < count {
            guard ContinuousClock.now < end else {
                throw BenchError(.failed, "Not all of the history was shown.")
            }
            try await Task.sleep(for: .seconds(1))
        }
        try await mount.figures.rest(on: stage)
        await stage.end(mount.process)
    }

    private func listed(_ mount: Mounted) async throws -> Int {
        try stage.check()
        return try await ThreadPool.shared.run {
            try mount.chats.reduce(0) { $0 + (try NameWork.paths(in: $1).count) }
        }
    }

    // MARK: - Listings

    /// Milliseconds for all chats, each on a new mount.
    func listings(
        of computer: PhoneComputer, _ repetitions: Int
    ) async throws -> (connected: [Double], away: [Double], embedded: [Double]) {
        let history = try await History.write(
            files: phone.count, chats: phone.chats, in: "data-embedded", on: stage)
        try await history.listEverything()
        var (connected, away, embedded): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<repetitions {
            let (mount, _) = try await computer.mount(phone)
            // The phone tells what is new.
            try await Task.sleep(for: .seconds(5))
            connected.append(try await list(mount))
            away.append(try await list(try await computer.mountAway()))
            embedded.append(try await list(try await history.mount()))
        }
        return (connected, away, embedded)
    }

    private func list(_ mount: Mounted) async throws -> Double {
        try await mount.figures.rest(on: stage)
        let (count, start) = (phone.count, ContinuousClock.now)
        let found = try await ThreadPool.shared.run {
            try mount.chats.reduce(0) { $0 + (try NameWork.list($1).found) }
        }
        let time = (ContinuousClock.now - start) / .milliseconds(1)
        guard found >= count else {
            throw BenchError(.wrong, "A mount shows \(found) of \(count) names.")
        }
        await stage.end(mount.process)
        return time
    }

    // MARK: - Files

    /// MB/s of each file, through a mount and alone.
    func transfers(
        of files: [PhoneProgram.File], _ computer: PhoneComputer
    ) async throws -> (through: [Double], bare: [Double]) {
        var (through, bare): ([Double], [Double]) = ([], [])
        for file in files {
            let mount = try await quietMount(computer)
            through.append(try await read(file, mount).megabytesPerSecond(of: file.size))
            await stage.end(mount.process)
            try await stage.settle()
            let alone = try await BareTransfer.seconds(file, from: phone, on: stage)
            bare.append(alone.megabytesPerSecond(of: file.size))
        }
        return (through, bare)
    }

    /// MiB above the idle mount.
    func memory(of file: PhoneProgram.File, _ computer: PhoneComputer) async throws -> Double {
        let mount = try await quietMount(computer)
        let idle = try mount.figures.memory()
        _ = try await read(file, mount)
        try await mount.figures.rest(on: stage)
        let most = try mount.figures.peakMemory()
        await stage.end(mount.process)
        return (most - idle) / 1_048_576
    }

    /// Copies a file into the notes, and compares the phone's file. Returns the MiB above the idle mount.
    func send(
        _ file: PhoneProgram.File, _ computer: PhoneComputer
    ) async throws -> Double {
        let (mount, name) = (try await quietMount(computer), "from the computer.bin")
        let idle = try mount.figures.memory()
        _ = try await stage.send(file.plain, to: mount.file(PhoneProgram.notes + "/" + name))
        let most = try mount.figures.peakMemory()
        try await ThreadPool.shared.run {
            try FileWork.read(phone.path(of: name)).requireSum(FileWork.read(file.plain).sum)
        }
        await stage.end(mount.process)
        return (most - idle) / 1_048_576
    }

    private func quietMount(_ computer: PhoneComputer) async throws -> Mounted {
        let (mount, _) = try await computer.mount(phone)
        try await Task.sleep(for: .seconds(5))
        try await mount.figures.rest(on: stage)
        try await stage.settle()
        return mount
    }

    private func read(_ file: PhoneProgram.File, _ mount: Mounted) async throws -> Double {
        let path = mount.file(PhoneProgram.notes + "/" + file.name)
        return try await ThreadPool.shared.run {
            let reading = try FileWork.read(path)
            try reading.requireSum(FileWork.read(file.plain).sum)
            return reading.whole
        }
    }
}
