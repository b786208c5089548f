import Glibc
import Posix

/// The process that decodes one picture: this same program, started by `PictureDecoder` under limits of
/// memory, time and reach. The picture comes in through its standard input, a small JPEG goes out.
///
/// What decodes is written in C and meets bytes of strangers. So before the first of them the process gives
/// up everything but computing and its two streams (`ProcessHardening.computeOnly`): taken over, it can
/// still only send another small picture.
public enum PictureProcess {
    /// As the first argument it makes `chatfs` this process. Format, number of bytes that come, most bytes
    /// that go out follow.
    public static let word = "decode-one-picture"

    /// How it ends other than with a picture and 0.
    enum Ending: Int32 {
        /// The library, or its part for this format, is not installed.
        case cannotDecode = 10
        case notConfined = 11
        case brokenPicture = 12
        case wrongCall = 64
    }

    /// More pixels than any camera has: a picture that decodes to more is a trap.
    private static let maxPixels = 256_000_000
    /// Sizes of the longer side and qualities that are tried until one fits.
    private static let sides = [320, 256, 192, 128, 64]
    private static let qualities = [80, 65, 50, 35]

    /// Decodes and ends the process, which must have one thread.
    public static func main(_ arguments: [String]) -> Never {
        ProcessHardening.apply()
        guard arguments.count == 3, let format = PictureFormat(rawValue: arguments[0]),
            let length = Int(arguments[1]), let most = Int(arguments[2])
        else { end(.wrongCall) }
        // While files can still be opened: the parts of the library are files of their own.
        guard var library = PixbufLibrary(), let loader = library.loader(for: format),
            library.prepareWriting()
        else { end(.cannotDecode) }
        do throws(SystemError) { try ProcessHardening.computeOnly() } catch { end(.notConfined) }

        let picture = withUnsafeMutablePointer(to: &library) { library in
            library.pointee.whenSizeIsKnown(loader, library, Self.chooseSize)
            return decode(loader, library.pointee, length)
        }
        guard let picture, let jpeg = preview(of: picture, library, most: most),
            (try? OpenFile(adopting: STDOUT_FILENO).send(jpeg)) != nil
        else { end(.brokenPicture) }
        _exit(0)
    }

    private static func end(_ ending: Ending) -> Never { _exit(ending.rawValue) }

    /// No more is decoded than is needed, where the format allows that (JPEG does).
    private static let chooseSize: PixbufLibrary.SizeKnown = { loader, width, height, library in
        guard width > 0, height > 0, Int(width) <= maxPixels / Int(height) else { end(.brokenPicture) }
        let size = PictureSize(width: Int(width), height: Int(height)).fitting(2 * (sides.max() ?? 1))
        library?.assumingMemoryBound(to: PixbufLibrary.self).pointee.ask(loader, for: size)
    }

    private static func decode(
        _ loader: PixbufLibrary.Loader, _ library: PixbufLibrary, _ length: Int
    ) -> PixbufLibrary.Picture? {
        let input = OpenFile(adopting: STDIN_FILENO)
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        var rest = length
        while rest > 0 {
            let wanted = UnsafeMutableRawBufferPointer(rebasing: piece[..<min(rest, piece.count)])
            guard (try? input.receive(into: wanted)) == wanted.count,
                library.take(UnsafeRawBufferPointer(wanted), loader)
            else { return nil }
            rest -= wanted.count
        }
        return library.finish(loader)
    }

    private static func preview(
        of picture: PixbufLibrary.Picture, _ library: PixbufLibrary, most: Int
    ) -> [UInt8]? {
        for side in sides {
            guard let small = library.scaled(picture, to: library.size(of: picture).fitting(side))
            else { return nil }
            for quality in qualities {
                guard let jpeg = library.jpeg(small, quality: quality) else { return nil }
                if jpeg.count <= most { return jpeg }
            }
        }
        return nil
    }
}
