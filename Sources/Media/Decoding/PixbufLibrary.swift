import Base
import Glibc

/// The used part of GdkPixbuf, loaded at run time. Only the decoding process needs it, and ChatFS works without. Its C
/// interface has been stable since version 2.12.
///
/// Objects are never released, because the process ends after one picture.
struct PixbufLibrary {
    typealias Loader = OpaquePointer
    typealias Picture = OpaquePointer
    /// Receives the loader, width, height and the pointer passed to `whenSizeIsKnown`.
    typealias SizeKnown = @convention(c) (Loader, Int32, Int32, UnsafeMutableRawPointer?) -> Void

    private typealias Problem = UnsafeMutableRawPointer?
    private typealias Strings = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private typealias Text = UnsafePointer<CChar>
    private typealias Connect =
        @convention(c) (Loader, Text, SizeKnown, UnsafeMutableRawPointer?, UnsafeRawPointer?, UInt32) -> UInt
    private typealias Make = @convention(c) (Int32, Int32, Int32, Int32, Int32) -> Picture?
    private typealias MakeLoader = @convention(c) (Text, Problem) -> Loader?
    private typealias Measure = @convention(c) (Picture) -> Int32
    private typealias Result = @convention(c) (Loader) -> Picture?
    private typealias Save =
        @convention(c) (
            Picture, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<Int>, Text,
            Strings, Strings, Problem
        ) -> Int32
    private typealias Scale =
        @convention(c) (Picture, Int32, Int32, UInt32, Int32, Int32, UInt32, UInt32) -> Picture?
    private typealias SetSize = @convention(c) (Loader, Int32, Int32) -> Void
    private typealias Write = @convention(c) (Loader, UnsafeRawPointer, Int, Problem) -> Int32
    private typealias Close = @convention(c) (Loader, Problem) -> Int32
    private typealias Pixels = @convention(c) (Picture) -> UnsafePointer<UInt8>?
    private typealias Orient = @convention(c) (Picture) -> Picture?

    private let connect: Connect
    private let make: Make
    private let makeLoader: MakeLoader
    private let widthOf: Measure
    private let heightOf: Measure
    private let result: Result
    private let save: Save
    private let scale: Scale
    private let setSize: SetSize
    private let write: Write
    private let close: Close
    private let orient: Orient
    private let channelsOf: Measure
    private let strideOf: Measure
    private let pixelsOf: Pixels

    /// Returns nil if GdkPixbuf is not installed or another library has its name.
    init?() {
        guard let library = SharedLibrary("libgdk_pixbuf-2.0.so.0") else { return nil }
        do {
            connect = try library.function("g_signal_connect_data")
            make = try library.function("gdk_pixbuf_new")
            makeLoader = try library.function("gdk_pixbuf_loader_new_with_type")
            widthOf = try library.function("gdk_pixbuf_get_width")
            heightOf = try library.function("gdk_pixbuf_get_height")
            result = try library.function("gdk_pixbuf_loader_get_pixbuf")
            save = try library.function("gdk_pixbuf_save_to_bufferv")
            scale = try library.function("gdk_pixbuf_composite_color_simple")
            setSize = try library.function("gdk_pixbuf_loader_set_size")
            write = try library.function("gdk_pixbuf_loader_write")
            close = try library.function("gdk_pixbuf_loader_close")
            orient = try library.function("gdk_pixbuf_apply_embedded_orientation")
            channelsOf = try library.function("gdk_pixbuf_get_n_channels")
            strideOf = try library.function("gdk_pixbuf_get_rowstride")
            pixelsOf = try library.function("gdk_pixbuf_get_pixels")
        } catch {
            return nil
        }
    }

    // MARK: - Reading

    /// Returns a loader for one picture of a format, or nil if the module is missing.
    func loader(for format: PictureFormat) -> Loader? { makeLoader(format.rawValue, nil) }

    /// Calls `call` when the size of the picture is known, before decoding, so that it can request another size.
    func whenSizeIsKnown(_ loader: Loader, _ library: UnsafeMutableRawPointer, _ call: @escaping SizeKnown) {
        _ = connect(loader, "size-prepared", call, library, nil, 0)
    }

    /// Requests another size than the picture's own.
    func ask(_ loader: Loader, for size: PictureSize) {
        setSize(loader, Int32(clamping: size.width), Int32(clamping: size.height))
    }

    /// Reads the next bytes of the file. Returns false if they are invalid.
    func take(_ bytes: UnsafeRawBufferPointer, _ loader: Loader) -> Bool {
        bytes.baseAddress.map { write(loader, $0, bytes.count, nil) != 0 } ?? true
    }

    /// Returns the picture, or the first of an animation, in its camera orientation. Returns nil if it is incomplete.
    func finish(_ loader: Loader) -> Picture? {
        guard close(loader, nil) != 0, let picture = result(loader) else { return nil }
        return orient(picture)
    }

    // MARK: - Writing

    func size(of picture: Picture) -> PictureSize {
        PictureSize(width: Int(widthOf(picture)), height: Int(heightOf(picture)))
    }

    /// Bytes of red, green and blue, row by row; nil where it has fewer than three of a pixel.
    func pixels(of picture: Picture) -> [UInt8]? {
        let (size, channels, stride) = (size(of: picture), Int(channelsOf(picture)), Int(strideOf(picture)))
        guard channels >= 3, let bytes = pixelsOf(picture) else { return nil }
        return (0..<size.height).flatMap { row in
            (0..<size.width).flatMap { column in
                (0..<3).map { bytes[row * stride + column * channels + $0] }
            }
        }
    }

    /// Returns the picture in another size, with white for transparent areas.
    func scaled(_ picture: Picture, to size: PictureSize) -> Picture? {
        // 2 is bilinear filtering, averaging areas when shrinking. The background is a checkerboard of two whites.
        scale(
            picture, Int32(clamping: size.width), Int32(clamping: size.height), 2, 255, 16, 0xFF_FFFF,
            0xFF_FFFF)
    }

    /// Loads the JPEG and PNG encoders. Returns false if one is missing.
    func prepareWriting() -> Bool {
        // RGB, opaque, 8 bits, one pixel.
        guard let probe = make(0, 0, 8, 1, 1) else { return false }
        return jpeg(probe, quality: 50) != nil && png(probe) != nil
    }

    /// Returns a JPEG, or nil on failure.
    func jpeg(_ picture: Picture, quality: Int) -> [UInt8]? {
        encoded(picture, "jpeg", option: ("quality", String(quality)))
    }

    /// Returns a PNG, or nil on failure.
    func png(_ picture: Picture) -> [UInt8]? { encoded(picture, "png", option: ("compression", "3")) }

    private func encoded(
        _ picture: Picture, _ format: String, option: (name: String, value: String)
    ) -> [UInt8]? {
        var keys: [UnsafeMutablePointer<CChar>?] = [strdup(option.name), nil]
        var values: [UnsafeMutablePointer<CChar>?] = [strdup(option.value), nil]
        defer {
            free(keys[0])
            free(values[0])
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard save(picture, &bytes, &count, format, &keys, &values, nil) != 0, let bytes else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}
