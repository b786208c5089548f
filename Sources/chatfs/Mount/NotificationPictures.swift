import Base
import ChatCore
import Media
import Notifications

/// Pictures of messages for notifications, decoded in confined processes.
struct NotificationPictures: Sendable {
    let core: any ChatCore
    private let maker = ThumbnailMaker(timeout: Self.limit)

    /// Maximum time; a slower picture is omitted.
    private static let limit = Duration.seconds(5)

    init(core: any ChatCore) { self.core = core }

    /// Returns nil if there is no picture. Blocks the calling thread for at most five seconds.
    func picture(of file: NotifiedFile) -> NotificationPicture? {
        guard case .item(let id) = file.entry, let chat = file.chat else { return nil }
        let result = Monitor<NotificationPicture??>(nil)
        Task { [self] in
            let making = Task { await made(of: id, in: chat) }
            let picture = await making.result(within: Self.limit)?.get()
            result.change { $0 = .some(picture ?? nil) }
        }
        return result.wait { $0 }
    }

    private func made(of id: ItemID, in chat: ChatReference) async -> NotificationPicture? {
        // An unresponsive core means no picture.
        guard let preview = try? await core.preview(of: id, in: chat),
            let pixels = await maker.pixels(ofPreview: preview, side: NotificationPicture.side)
        else { return nil }
        return NotificationPicture(width: pixels.width, height: pixels.height, pixels: pixels.bytes)
    }
}
