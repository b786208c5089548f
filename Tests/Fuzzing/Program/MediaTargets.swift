import ChatCore

@testable import Media
@testable import Thumbnails

extension Target {
    /// Files that are inspected before they are sent.
    static let media = [
        Target("media", "pictures, videos and recordings", longest: 4096) { bytes in
            var input = Input(bytes)
            let names = [
                "a.jpg", "a.png", "a.gif", "a.webp", "a.mp4", "a.mov", "a.webm", "a.mkv", "voice.m4a",
                "voice.ogg", "ptt-1.opus", "a.bin",
            ]
            let name = names[input.number(below: names.count)]
            // A file may be far longer than its available bytes.
            let isLong = input.bool()
            let content = input.rest()
            let size = isLong ? UInt64.max >> 1 : UInt64(content.count)
            var (asked, times) = (0, 0)
            let read = { (offset: UInt64, count: Int) -> [UInt8] in
                asked += count
                times += 1
                guard offset < UInt64(content.count) else { return [] }
                return Array(content[Int(offset)...].prefix(count))
            }
            guard let kind = try? MediaInspection.kind(name: Array(name.utf8), size: size, content: read)
            else {
                return hold(false, "what can be read can be looked into")
            }
            hold(asked <= 128 << 10 && times <= 1040, "little is read")
            switch kind {
            case .video(let preview, let seconds):
                hold(preview.isEmpty && (1...86_400).contains(seconds), "a video has a length")
            case .voice(let seconds):
                hold((1...FilePolicy.maxVoiceSeconds).contains(seconds), "a recording has a length")
            case .image(let preview): hold(preview.isEmpty, "a preview is made later")
            case .file: break
            case .text: hold(false, "a file is no text")
            }
        },
        Target("preview", "previews as data URIs", longest: 512) { bytes in
            let text = PreviewMaker.text(bytes)
            hold(text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a preview is plain text")
            let caption = Int(bytes.first ?? 0) << 7
            let most = PreviewMaker.maxBytes(captionBytes: caption)
            let longest = PreviewMaker.text([]).utf8.count + (most + 2) / 3 * 4
            hold(most == 0 || longest <= FilePolicy.maxPreviewCharacters, "it fits its message")
            _ = PictureFormat(start: bytes).map(\.mediaType)
        },
        Target("thumbnail", "previews and thumbnails of others", longest: 4096) { bytes in
            var input = Input(bytes)
            let side = 1 + input.number(below: 300)
            let content = input.rest()
            if let preview = DataURI(String(decoding: content, as: UTF8.self)) {
                hold(PictureFormat(start: preview.bytes) == preview.format, "it is what it says")
            }
            if let uri = ThumbnailHead.uri(content) {
                hold(uri.count < content.count, "a text is a part of its file")
            }
            // Random bytes would fail its checksums, so these are correct.
            let texts = [(keyword: "Thumb::URI", value: "file:///a")]
            guard let file = PNGFile(content, side: side) else { return }
            let made = file.bytes(texts: texts)
            hold(PNGFile(made, side: side)?.bytes(texts: texts) == made, "it is the same again")
            hold(ThumbnailHead.uri(made) == Array("file:///a".utf8), "its text is found")
        },
    ]
}
