import TestSupport
import Testing

@testable import chatfs

@Suite("The sidebar entry")
struct SidebarEntryTests {
    @Test("GNOME shows the mount if installed")
    func installed() throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("data")
        _ = try folder.makeFolder("data/cloud-providers")
        _ = try folder.write([], to: "data/cloud-providers/chatfs.ini")
        let data = folder.path("none") + ":" + folder.path("data")
        for desktop in ["GNOME", "ubuntu:GNOME"] {
            #expect(SidebarEntry.isMade(desktop: desktop, dataFolders: data))
        }
        for desktop in ["KDE", "XFCE", "GNOMES", "", nil] {
            #expect(!SidebarEntry.isMade(desktop: desktop, dataFolders: data))
        }
        #expect(!SidebarEntry.isMade(desktop: "GNOME", dataFolders: folder.path("none")))
    }
}
