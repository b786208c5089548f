import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import MessageBus

/// libdbus on a separate bus, in a process whose environment names that bus.
@Suite("Bus messages", .timeLimit(.minutes(10)))
struct BusLibraryTests {
    /// Two connections to the bus, one with a well-known name.
    private struct Pair {
        let library: BusLibrary
        let (here, there): (BusLibrary.Connection, BusLibrary.Connection)
        static let name = "org.chatfs.Test"
        static let path = "/org/chatfs/Test"

        /// Returns nil if libdbus is not installed.
        init?(_ address: String) {
            setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
            guard let library = BusLibrary() else { return nil }
            guard let here = library.connect(to: .session), let there = library.connect(to: .session) else {
                preconditionFailure("the bus rejects connections")
            }
            (self.library, self.here, self.there) = (library, here, there)
            library.match("type='signal',interface='\(Self.name)'", on: there)
            // The reply shows that the bus knows both connections.
            let serial = call(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "RequestName",
                [.text(Self.name), .number(0)],
                from: there)
            _ = next(on: there) { library.reply($0)?.serial == serial }
        }

        func call(
            _ name: String, _ path: String, _ method: String, _ values: [BusValue],
            from connection: BusLibrary.Connection
        ) -> UInt32 {
            let message = library.call(name, path, name, method, starts: false)
            guard let serial = library.send(message, values, over: connection) else {
                preconditionFailure("no memory")
            }
            return serial
        }

        /// Returns the next matching message, which the caller releases.
        func next(
            on connection: BusLibrary.Connection, where fits: (BusLibrary.Message) -> Bool = { _ in true }
        ) -> BusLibrary.Message {
            let end = ContinuousClock.now + .seconds(90)
            while ContinuousClock.now < end {
                for connection in [here, there] { precondition(library.exchange(connection)) }
                while let message = library.next(connection) {
                    if fits(message) { return message }
                    library.release(message)
                }
                usleep(1000)
            }
            preconditionFailure("nothing comes")
        }
    }

    @Test("values arrive unchanged, other types are skipped")
    func values() async throws {
        let services = try SystemServices()
        try await services.startBus()
        await #expect(processExitsWith: .success) { [address = services.address as String] in
            guard let pair = Pair(address) else { return }
            let library = pair.library
            let long = String(repeating: "ü", count: 40_000)
            _ = pair.call(
                Pair.name, Pair.path, "Take",
                [
                    .text("hello"), .text(""), .text(long), .number(0), .number(.max), .flag(true),
                    .flag(false),
                    .integer(-1), .long(.min), .byte(7), .texts(["a", "", "ü"]), .texts([]),
                    .hints(["urgency": .byte(2), "name": .text("x"), "flag": .flag(true)]), .text("end"),
                ], from: pair.here)
            let message = pair.next(on: pair.there) { library.reply($0) == nil && library.sender($0) != nil }
            precondition(library.sender(message)?.hasPrefix(":") == true)
            let values = library.arguments(of: message)
            precondition(
                values == [
                    .text("hello"), .text(""), .text(long), .number(0), .number(.max), .flag(true),
                    .flag(false), .texts(["a", "", "ü"]), .texts([]), .texts([]), .text("end"),
                ])
            precondition(library.descriptor(in: message) == nil)
            library.release(message)
            // A message without arguments.
            _ = pair.call(Pair.name, Pair.path, "Take", [], from: pair.here)
            let empty = pair.next(on: pair.there) { library.reply($0) == nil }
            precondition(library.arguments(of: empty).isEmpty && library.descriptor(in: empty) == nil)
            library.release(empty)
        }
        try await services.stopBus()
    }

    @Test("replies name their call; missing services are errors")
    func answers() async throws {
        let services = try SystemServices()
        try await services.startBus()
        await #expect(processExitsWith: .success) { [address = services.address as String] in
            guard let pair = Pair(address) else { return }
            let library = pair.library
            let asked = (0..<3).map { _ in
                pair.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "GetId", [], from: pair.here)
            }
            precondition(Set(asked).count == 3)
            for serial in asked {
                let answer = pair.next(on: pair.here) { library.reply($0) != nil }
                precondition(
                    library.reply(answer)?.serial == serial && library.reply(answer)?.isError == false)
                guard case .text(let id)? = library.arguments(of: answer).first else {
                    preconditionFailure("there is no id")
                }
                precondition(id.count == 32)
                library.release(answer)
            }
            let nobody = pair.call("org.chatfs.Nobody", Pair.path, "Take", [.text("x")], from: pair.here)
            let refusal = pair.next(on: pair.here) { library.reply($0)?.serial == nobody }
            precondition(library.reply(refusal)?.isError == true)
            library.release(refusal)
        }
        try await services.stopBus()
    }

    @Test("signals match by interface and name")
    func signals() async throws {
        let services = try SystemServices()
        try await services.startBus()
        await #expect(processExitsWith: .success) { [address = services.address as String] in
            guard let pair = Pair(address) else { return }
            let library = pair.library
            for (interface, name) in [
                ("org.chatfs.Other", "Said"), (Pair.name, "Other"), (Pair.name, "Said"),
            ] {
                let signal = library.signal(Pair.path, interface, name)
                precondition(library.send(signal, [.text(name)], over: pair.here) != nil)
            }
            let first = pair.next(on: pair.there) { library.isSignal($0, Pair.name, "Other") }
            precondition(!library.isSignal(first, Pair.name, "Said") && library.reply(first) == nil)
            library.release(first)
            let second = pair.next(on: pair.there)
            precondition(library.isSignal(second, Pair.name, "Said"))
            precondition(!library.isSignal(second, "org.chatfs.Other", "Said"))
            precondition(library.arguments(of: second) == [.text("Said")])
            library.release(second)
        }
        try await services.stopBus()
    }

    @Test("the end of the bus closes only the connection")
    func end() async throws {
        let services = try SystemServices()
        try await services.startBus()
        let folder = try TemporaryFolder()
        let ready = folder.path("ready")
        let client = Task { [address = services.address] in
            _ = await #expect(processExitsWith: .success) {
                [address = address as String, ready = ready as String] in
                guard let pair = Pair(address) else {
                    _ = try OpenFile(ready, flags: O_WRONLY | O_CREAT)
                    return
                }
                precondition(pair.library.descriptor(of: pair.here) ?? -1 >= 0)
                _ = try OpenFile(ready, flags: O_WRONLY | O_CREAT)
                let end = ContinuousClock.now + .seconds(90)
                while pair.library.exchange(pair.here) {
                    while let message = pair.library.next(pair.here) { pair.library.release(message) }
                    precondition(ContinuousClock.now < end, "it is never noticed")
                    usleep(1000)
                }
            }
        }
        try await wait(until: "it is on the bus") { access(ready, F_OK) == 0 }
        try await services.stopBus()
        await client.value
    }

    @Test("without a bus there is no connection")
    func nowhere() async throws {
        let folder = try TemporaryFolder()
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            guard let library = BusLibrary() else { return }
            for address in ["unix:path=\(path)/none", "unix:path=\(path)", "nonsense", "unix:"] {
                setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
                precondition(library.connect(to: .session) == nil, address)
            }
        }
    }
}
