import Base
import Testing

@testable import Thumbnails

@Suite("Mount links")
struct MountLinkTests {
    @Test(
        "a mount link is named after its mount",
        arguments: ["/mnt", "/home/ann/Chats", "/", "/a b/ü", "/a/.chatfs/thumbnails"])
    func names(mountpoint: String) throws {
        let link = MountLink(mountpoint: mountpoint)
        #expect(link.target == mountpoint + "/.chatfs/thumbnails")
        #expect(link.name.hasPrefix(".chatfs-") && link.name.utf8.count == 24 && !link.name.contains("/"))
        #expect(MountLink(name: link.name, target: link.target)?.mountpoint == mountpoint)
        #expect(MountLink(mountpoint: mountpoint + "/").name != link.name)
    }

    @Test("other names and targets are foreign links")
    func strangers() {
        let link = MountLink(mountpoint: "/mnt")
        for (name, target) in [
            (link.name, "/mnt2/.chatfs/thumbnails"), (link.name, "/mnt/.chatfs"),
            (link.name, "/mnt/.chatfs/thumbnails/"), (link.name, ""),
            ("chatfs-" + link.name.dropFirst(8), link.target), (link.name + "0", link.target),
            (link.name.uppercased(), link.target),
            ("", link.target), (".chatfs-", link.target),
        ] { #expect(MountLink(name: name, target: target) == nil, "\(name) \(target)") }
    }

    @Test(
        "thumbnail links lead through it and are short"
    )
    func previews() {
        let link = MountLink(mountpoint: "/" + String(repeating: "long", count: 60))
        for size in ThumbnailSize.allCases {
            for spelling in FileURI.allCases {
                let place = ThumbnailPlace(entry: 1 << 40, size: size, spelling: spelling)
                let target = link.target(of: place)
                #expect(target == "../\(link.name)/\(size.rawValue)/\(place.fileName)")
                #expect(target.utf8.count < 60, "a block of the disk each, else")
                #expect(link.isUsed(by: target) && !MountLink(mountpoint: "/mnt").isUsed(by: target))
            }
        }
        for target in ["", "..", "../\(link.name)", "../\(link.name)x/1", "/\(link.name)/1", link.target] {
            #expect(!link.isUsed(by: target))
        }
    }
}
