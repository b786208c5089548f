import Posix

/// Two machines become contacts over our relay with a user's commands.
struct PairMeasure: Measure {
    let name = "pair"
    let abstract =
        "from the use of a link until both sides are connected"

    func take(on stage: Stage) async throws -> [Row] {
        let relay = try await MessageRelay.start(on: stage)
        let pairing = Pairing(
            stage: stage,
            servers: [
                "--server", relay.server.description, "--relay", try await relay.fileAddress(on: stage),
            ])
        var (connected, whole): ([Double], [Double]) = ([], [])
        for repetition in 0..<stage.plan.repetitions {
            let seconds = try await pairing.meet(repetition)
            connected.append(seconds.connected * 1000)
            whole.append(seconds.whole * 1000)
        }
        return [
            Row(
                "pair-connected", "from the start of chatfs accept until chatfs pair names the contact",
                .milliseconds, connected, target: .atMost(1000)),
            Row("pair-accepted", "the same until chatfs accept has ended", .milliseconds, whole),
        ]
    }
}

/// New people, each with their own data directory.
private struct Pairing {
    let stage: Stage
    let servers: [String]

    func meet(_ number: Int) async throws -> (connected: Double, whole: Double) {
        let inviter = try await stage.start(
            Stage.chatfs, ["pair", "--profile", "alice"] + data("alice-\(number)") + servers)
        guard let link = await inviter.line(within: .seconds(30), where: { $0.hasPrefix("https://") })
        else { throw stage.failure("chatfs pair", inviter) }
        let start = ContinuousClock.now
        let joiner = try await stage.start(
            Stage.chatfs, ["accept", link, "--profile", "bob"] + data("bob-\(number)") + servers)
        guard await inviter.line(within: .seconds(30), where: { $0.hasPrefix("bob is connected") }) != nil
        else { throw stage.failure("chatfs pair", inviter) }
        let connected = FileWork.seconds(since: start)
        guard await joiner.line(within: .seconds(30), where: { $0.hasPrefix("alice is connected") }) != nil
        else { throw stage.failure("chatfs accept", joiner) }
        let whole = FileWork.seconds(since: start)
        for process in [inviter, joiner] { await stage.end(process) }
        return (connected, whole)
    }

    private func data(_ name: String) -> [String] { ["--data", stage.path(name)] }
}
