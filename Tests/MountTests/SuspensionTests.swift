import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs

@Suite("Suspended transfers", .serialized)
struct SuspensionTests {
    /// Connections to the relay of all mounts: only root may see their processes.
    private func connections(_ mounts: TwoMounts) throws -> Int {
        let port = try #require(mounts.relayAddress.split(separator: ":").last.flatMap { UInt16($0) })
        let remote = "0100007F:" + Hexadecimal.encode([UInt8(port >> 8), UInt8(port & 255)]).uppercased()
        let table = ProcessInformation.bytes(of: "/proc/net/tcp", limit: 1 << 20) ?? []
        return String(decoding: table, as: UTF8.self).split(separator: "\n").count { line in
            let fields = line.split(separator: " ").map(String.init)
            // 01: established.
            return fields.count > 3 && fields[2] == remote && fields[3] == "01"
        }
    }

    /// Alice sends to Bob and closes her connections.
    private func send(_ bytes: [UInt8], _ mounts: TwoMounts) async throws {
        try await mounts.send(bytes, as: "film.bin")
        #expect(try await mounts.leave("alice") == .code(0))
        try await mounts.mount("alice")
        try await wait(until: "nobody is connected") { try connections(mounts) == 0 }
    }

    private func suspended(_ mounts: TwoMounts) async throws -> String {
        let outcome = try await ChatFSProcess.run(["status", mounts.path("bob"), "--json"])
        return outcome.output.split(separator: "\n").first { $0.contains("\"suspended\"") }.map(String.init)
            ?? ""
    }

    @Test(
        "suspend pauses a download, resume completes it"
    )
    func byUser() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(20_000_000)
        try mounts.folder.write(bytes, to: "source")
        try await send(bytes, mounts)
        let begun = try await Shell.script(
            "head -c 1000 bob/alice/film.bin | wc -c", folder: mounts.folder.path)
        #expect(begun.output.contains("1000"))
        #expect(try connections(mounts) > 0)

        let suspended = try await ChatFSProcess.run(["suspend", mounts.path("bob")])
        #expect(
            suspended.succeeded && suspended.errors.contains("is suspended"), "\(suspended.errors)")
        try await wait(until: "all connections are closed") { try connections(mounts) == 0 }
        #expect(try await self.suspended(mounts).contains("user"))
        let words = try await ChatFSProcess.run(["status", mounts.path("bob")])
        #expect(words.output.contains("transfers are suspended until chatfs resume"))
        // A reader waits and contacts no relay.
        let reader = try await RunningProcess.start(
            ChildProcess.Settings(Shell.find("sha256sum"), [mounts.path("bob/alice/film.bin")]))
        // Copied files wait too, while texts are sent.
        try mounts.write(TwoMounts.bytes(3_000_000, seed: 2), to: "bob/alice/back.bin")
        try mounts.write(Array("a word".utf8), to: "bob/alice/word.txt")
        try await mounts.waitForFile("alice/bob/word.txt")
        #expect(try connections(mounts) == 0)
        #expect(reader.isRunning)
        #expect(try mounts.state("bob/alice/back.bin") != "sent")

        let resumed = try await ChatFSProcess.run(["resume", mounts.path("bob")])
        #expect(resumed.succeeded, "\(resumed.errors)")
        #expect(try await reader.ending() == .code(0), "\(reader.errors)")
        let wanted = try await Shell.run("sha256sum", [mounts.path("source")])
        #expect(reader.output.prefix(64) == wanted.output.prefix(64))
        try await mounts.waitForState("sent", of: "bob/alice/back.bin")
        #expect(try await self.suspended(mounts) == "")
    }

    @Test("a suspended mount can be unmounted and restarted")
    func unmounted() async throws {
        let mounts = try await TwoMounts.start()
        #expect(try await ChatFSProcess.run(["suspend", mounts.path("bob")]).succeeded)
        try mounts.write(TwoMounts.bytes(3_000_000), to: "bob/alice/back.bin")
        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.mount("bob")
        #expect(try await suspended(mounts) == "")
        try await mounts.waitForState("sent", of: "bob/alice/back.bin")
    }

    @Test("sleep suspends, waking resumes transfers")
    func sleep() async throws {
        let services = try await SystemServices.start(metered: 0)
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.mount("bob", environment: ["DBUS_SYSTEM_BUS_ADDRESS": services.address])
        try await send(TwoMounts.bytes(20_000_000), mounts)
        try await wait(until: "the mount keeps the machine awake") { services.asked.contains("inhibit") }
        _ = try await Shell.script("head -c 1000 bob/alice/film.bin | wc -c", folder: mounts.folder.path)
        try services.say("sleep")
        try await wait(until: "the machine may sleep") { services.asked.contains("released") }
        try await wait(until: "all connections are closed") { try connections(mounts) == 0 }
        #expect(try await suspended(mounts).contains("sleep"))
        let reader = try await RunningProcess.start(
            ChildProcess.Settings(Shell.find("wc"), ["-c", mounts.path("bob/alice/film.bin")]))
        let tail = try await RunningProcess.start(
            ChildProcess.Settings(Shell.find("sha256sum"), [mounts.path("bob/alice/film.bin")]))
        #expect(try await reader.ending() == .code(0))
        // A mount suspended by the user stays so after waking.
        #expect(try await ChatFSProcess.run(["suspend", mounts.path("bob")]).succeeded)
        try services.say("wake")
        try await wait(until: "the machine is kept awake again") {
            services.asked.count { $0 == "inhibit" } == 2
        }
        #expect(try await suspended(mounts).contains("user"))
        #expect(tail.isRunning)
        #expect(try await ChatFSProcess.run(["resume", mounts.path("bob")]).succeeded)
        #expect(try await tail.ending() == .code(0), "\(tail.errors)")
    }

    @Test(
        "a bus outage during sleep is survived"
    )
    func busReturns() async throws {
        let services = try await SystemServices.start(metered: 0)
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.mount("bob", environment: ["DBUS_SYSTEM_BUS_ADDRESS": services.address])
        try await wait(until: "the mount keeps the machine awake") { services.asked.contains("inhibit") }
        try services.say("sleep")
        try await wait(until: "it sleeps") { try await suspended(mounts).contains("sleep") }
        try await services.stopBus()
        try await wait(until: "it is awake") { try await suspended(mounts) == "" }
        try await services.stopServices()
        try await services.startBus()
        try await services.startServices(metered: 0)
        try await wait(until: "the machine is kept awake again", within: .seconds(60)) {
            services.asked.contains("inhibit")
        }
        try services.say("sleep")
        try await wait(until: "it sleeps again") { try await suspended(mounts).contains("sleep") }
        try services.say("wake")
        try await wait(until: "it is awake again") { try await suspended(mounts) == "" }
    }

    @Test("connections stay closed while any reason remains")
    func reasons() {
        // Every sequence of six events.
        let events = SuspensionReasons.Event.allCases
        for number in 0..<4096 {
            var reasons = SuspensionReasons()
            var isSuspended = false
            for step in 0..<6 {
                let event = events[(number >> (2 * step)) & 3]
                let effects = reasons.take(event)
                for effect in effects {
                    switch effect {
                    case .suspend: isSuspended = true
                    case .resume: isSuspended = false
                    case .letSleep: #expect(isSuspended && event == .sleeping)
                    }
                }
                #expect(isSuspended == (reasons.byUser || reasons.forSleep))
                #expect(event != .sleeping || effects.last == .letSleep)
                #expect((reasons.word == nil) == !isSuspended)
            }
        }
    }
}
