import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import MessageBus

@Suite("Notices of system services", .serialized)
struct SystemWatchTests {
    private func watch(_ services: SystemServices) throws -> SystemWatch {
        try SystemWatch(address: services.address, executable: ChatFSProcess.path)
    }

    /// Collects the notices.
    private func listen(to watch: SystemWatch) -> Lock<[SystemNotice]> {
        let heard = Lock<[SystemNotice]>([])
        let notices = watch.notices()
        Task { for await notice in notices { heard.withLock { $0.append(notice) } } }
        return heard
    }

    @Test("metered follows services and buses")
    func metered() async throws {
        let services = try await SystemServices.start(metered: 1)
        let watch = try watch(services)
        let heard = listen(to: watch)
        await ThreadPool.shared.run { watch.start() }
        #expect(watch.isMetered)
        for (value, isMetered) in [(4, false), (3, true), (2, false), (0, false), (1, true)] {
            try services.say("metered \(value)")
            try await wait(until: "it knows") { watch.isMetered == isMetered }
        }
        try services.say("leave org.freedesktop.NetworkManager")
        try await wait(until: "the metered notice has ended") { !watch.isMetered }
        try await services.stopServices()
        try await services.startServices(metered: 3)
        try await wait(until: "the next one says so") { watch.isMetered }
        try await services.stopBus()
        try await wait(until: "the metered notice has ended") { !watch.isMetered }
        try await wait(until: "all is heard") { heard.withLock { $0.count } == 8 }
        #expect(
            heard.withLock { $0 }
                == [true, false, true, false, true, false, true, false].map { .metered($0) })
        // A new bus is found on the next start.
        try await services.startBus()
        try await services.startServices(metered: 1)
        try await wait(until: "it is asked again") {
            await ThreadPool.shared.run { watch.start() }
            return watch.isMetered
        }
        watch.stop()
    }

    @Test("sleep waits until the mount is ready")
    func sleeping() async throws {
        let services = try await SystemServices.start(metered: 0)
        let watch = try watch(services)
        let heard = listen(to: watch)
        await ThreadPool.shared.run { watch.start() }
        try await wait(until: "it is kept awake") { services.asked.contains("inhibit") }
        for round in 1...3 {
            try services.say("sleep")
            try await wait(until: "it is heard") { heard.withLock { $0.count } == 2 * round - 1 }
            #expect(services.asked.filter { $0 == "released" }.count == round - 1)
            watch.readyToSleep()
            try await wait(until: "it may sleep") {
                services.asked.filter { $0 == "released" }.count == round
            }
            try services.say("wake")
            try await wait(until: "it is kept awake again") {
                services.asked.filter { $0 == "inhibit" }.count == round + 1
            }
        }
        try await wait(until: "all is heard") { heard.withLock { $0.count } == 6 }
        #expect(heard.withLock { $0 } == [.sleeping, .awake, .sleeping, .awake, .sleeping, .awake])
        watch.stop()
        try await wait(until: "nothing keeps it awake") {
            services.asked.filter { $0 == "released" }.count == 4
        }
    }

    @Test("a late ready keeps the lock for the next sleep")
    func lateReady() async throws {
        let services = try await SystemServices.start(metered: 0)
        let watch = try watch(services)
        let heard = listen(to: watch)
        await ThreadPool.shared.run { watch.start() }
        try await wait(until: "it is kept awake") { services.asked.contains("inhibit") }
        try services.say("sleep")
        try services.say("wake")
        try await wait(until: "it is awake") { heard.withLock { $0 } == [.sleeping, .awake] }
        watch.readyToSleep()
        for value in [1, 0, 1] {
            try services.say("metered \(value)")
            try await wait(until: "time goes on") { watch.isMetered == (value == 1) }
        }
        #expect(!services.asked.contains("released"))
        try services.say("sleep")
        try await wait(until: "it is heard") { heard.withLock { $0.last } == .sleeping }
        watch.readyToSleep()
        try await wait(until: "it may sleep") { services.asked.contains("released") }
        watch.stop()
    }

    @Test("a session lock is heard even without an inhibitor", arguments: [false, true])
    func sessionLocks(isRefused: Bool) async throws {
        let services = try await SystemServices.start(metered: 0)
        if isRefused {
            try services.say("refuse")
            try await wait(until: "it refuses inhibitors") { services.asked.contains("refusing") }
        }
        let watch = try watch(services)
        let heard = listen(to: watch)
        await ThreadPool.shared.run { watch.start() }
        try await wait(until: "it has asked") { services.asked.contains(isRefused ? "refused" : "inhibit") }
        try services.say("lock")
        try await wait(until: "the signal is heard") { heard.withLock { $0 } == [.sessionLocked] }
        try services.say("hint")
        try await wait(until: "the hint is heard") {
            heard.withLock { $0 } == [.sessionLocked, .sessionLocked]
        }
        watch.stop()
    }

    @Test func locksOfOtherSessionsAreIgnored() async throws {
        let services = try await SystemServices.start(metered: 0)
        let watch = try watch(services)
        let heard = listen(to: watch)
        await ThreadPool.shared.run { watch.start() }
        try await wait(until: "it has asked") { services.asked.contains("inhibit") }
        try services.say("lock other")
        try services.say("lock")
        try await wait(until: "the own lock is heard") { heard.withLock { $0.contains(.sessionLocked) } }
        try services.say("metered 1")
        try await wait(until: "the next notice arrives") { watch.isMetered }
        #expect(heard.withLock { $0 } == [.sessionLocked, .metered(true)])
        watch.stop()
    }

    @Test("session paths are those of logind", arguments: [("1", "_31"), ("c2", "c2"), ("a-b", "a_2db")])
    func sessionPaths(identifier: String, name: String) {
        #expect(
            SystemConversation.path(ofSession: identifier) == "/org/freedesktop/login1/session/" + name)
    }

    @Test("the end of logind counts as awake")
    func loginEnds() async throws {
        let services = try await SystemServices.start(metered: 0)
        let watch = try watch(services)
        let heard = listen(to: watch)
        await ThreadPool.shared.run { watch.start() }
        try await wait(until: "it is kept awake") { services.asked.contains("inhibit") }
        try services.say("sleep")
        try await wait(until: "it is heard") { heard.withLock { $0 } == [.sleeping] }
        try await services.stopServices()
        try await wait(until: "it is awake") { heard.withLock { $0 } == [.sleeping, .awake] }
        try await services.startServices(metered: 0)
        try await wait(until: "the next one is asked") { services.asked.contains("inhibit") }
        watch.stop()
    }

    @Test("a bus that dies while the machine sleeps is found again, and its next sleep is heard")
    func busReturns() async throws {
        let services = try await SystemServices.start(metered: 0)
        let watch = try watch(services)
        let heard = listen(to: watch)
        await ThreadPool.shared.run { watch.start() }
        try await wait(until: "it is kept awake") { services.asked.contains("inhibit") }
        try services.say("sleep")
        try await wait(until: "it is heard") { heard.withLock { $0 } == [.sleeping] }
        try await services.stopBus()
        try await wait(until: "nobody would say that it is awake") {
            heard.withLock { $0 } == [.sleeping, .awake]
        }
        try await services.stopServices()
        try await services.startBus()
        try await services.startServices(metered: 1)
        // Nobody starts the watch again.
        try await wait(until: "it is kept awake again", within: .seconds(60)) {
            services.asked.contains("inhibit")
        }
        try await wait(until: "its cost is known") { watch.isMetered }
        try services.say("sleep")
        try await wait(until: "the next sleep is heard") { heard.withLock { $0.last } == .sleeping }
        watch.readyToSleep()
        try await wait(until: "it may sleep") { services.asked.contains("released") }
        watch.stop()
    }

    @Test("forged sleep signals are ignored")
    func forged() async throws {
        let services = try await SystemServices.start(metered: 0)
        let watch = try watch(services)
        let heard = listen(to: watch)
        await ThreadPool.shared.run { watch.start() }
        try await wait(until: "it is kept awake") { services.asked.contains("inhibit") }
        let forging = """
            import dbus, dbus.bus, dbus.lowlevel, sys
            bus = dbus.bus.BusConnection(sys.argv[1])
            for name in bus.list_names():
                if not name.startswith(":"): continue
                message = dbus.lowlevel.SignalMessage("/org/freedesktop/login1",
                    "org.freedesktop.login1.Manager", "PrepareForSleep")
                message.append(True)
                message.set_destination(name)
                bus.send_message(message)
            bus.flush()
            """
        let outcome = try await Shell.run("/usr/bin/python3", ["-c", forging, services.address])
        #expect(outcome.succeeded)
        try services.say("metered 1")
        try await wait(until: "the next notice arrives") { watch.isMetered }
        #expect(heard.withLock { $0 } == [.metered(true)])
        watch.stop()
    }

    @Test("without bus or services nothing is metered")
    func absent() async throws {
        let none = try SystemWatch(address: nil, executable: ChatFSProcess.path)
        await ThreadPool.shared.run { none.start() }
        #expect(!none.isMetered)
        let folder = try TemporaryFolder()
        for address in ["unix:path=" + folder.path("none"), "what is this?", "unix:path=/dev/null"] {
            let watch = try SystemWatch(address: address, executable: ChatFSProcess.path)
            await ThreadPool.shared.run { watch.start() }
            #expect(!watch.isMetered)
        }
        let services = try SystemServices()
        try await services.startBus()
        let watch = try watch(services)
        await ThreadPool.shared.run { watch.start() }
        #expect(!watch.isMetered)
        // The first reply says that the service does not exist.
        try await services.startServices(metered: 1)
        try await wait(until: "it is heard of") { watch.isMetered }
        watch.stop()
        try await services.stopBus()
    }

    @Test("silent and ended processes do not block start")
    func strange() async throws {
        let services = try SystemServices()
        try await services.startBus()
        for program in ["/bin/true", "/bin/cat"] {
            let watch = try SystemWatch(address: services.address, executable: program)
            await ThreadPool.shared.run { watch.start() }
            #expect(!watch.isMetered)
            watch.readyToSleep()
            watch.stop()
        }
    }

    @Test("the system bus address has a default")
    func address() {
        setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/tmp/a bus,guid=1", 1)
        #expect(BusAddress.system() == "unix:path=/tmp/a bus,guid=1")
        unsetenv("DBUS_SYSTEM_BUS_ADDRESS")
        let usual = "/run/dbus/system_bus_socket"
        #expect(BusAddress.system() == (access(usual, F_OK) == 0 ? "unix:path=" + usual : nil))
    }
}
