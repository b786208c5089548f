import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Notifications

@Suite("The thread of notifications")
struct DriverTests {
    private static let hasNoBus = getenv("DBUS_SESSION_BUS_ADDRESS") == nil

    /// Without a bus, only folders are checked.
    @Test("a folder due during a check is checked later", .enabled(if: hasNoBus))
    func laterFolder() async throws {
        let folder = try TemporaryFolder()
        let looks = Lock<[Set<ChatReference>]>([])
        let settings = NotifierSettings(
            mode: .instant, preview: .message, folder: try OpenFile(folder.path, flags: O_RDONLY),
            runtimeFolder: nil,
            silent: { due in
                looks.withLock { $0.append(due) }
                // The other folder becomes due meanwhile.
                usleep(600_000)
                return SilentChats(inFront: due)
            },
            perform: { _ in })
        var told = NotificationRecord(beginning: MachineFixture.beginning, history: ItemID(0))
        told.noteUnread(ItemID(1), in: .direct(1))
        told.noteUnread(ItemID(2), in: .direct(2))
        var driver = NotificationDriver(settings, told, nil)
        driver.process([.listed(.direct(1))])
        try await Task.sleep(for: .milliseconds(300))
        driver.process([.listed(.direct(2))])
        try await Task.sleep(for: .milliseconds(750))
        driver.process([])
        driver.process([])
        #expect(driver.unread.isEmpty, "\(looks.withLock { $0 })")
    }
}
