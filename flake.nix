{
  description = "Claude Code inside Neovim";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
      version = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package.version;
    in
    {
      packages = each (pkgs: rec {
        # Compiled from the same sources that the plugin's folder has: the plugin compares their hash when it loads the library.
        library = pkgs.rustPlatform.buildRustPackage {
          pname = "claude-ide-nvim-library";
          inherit version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package" "claude-ide-nvim" ];
          env.CLAUDE_IDE_RELEASE = "1"; # no times and inodes of the build in it
          doCheck = false; # the tests start Neovims and bind ports
          # What nixpkgs strips, macOS may refuse; the linker has stripped it.
          dontStrip = true;
          installPhase = ''
            runHook preInstall
            install -D target/*/release/libclaude_ide_native${pkgs.stdenv.hostPlatform.extensions.sharedLibrary} -t $out/lib
            runHook postInstall
          '';
        };
        default = pkgs.vimUtils.buildVimPlugin {
          pname = "claude-ide.nvim";
          inherit version;
          src = self;
          postInstall = ''
            mkdir -p $out/build
            cp ${library}/lib/libclaude_ide_native${pkgs.stdenv.hostPlatform.extensions.sharedLibrary} $out/build/claude_ide_native.so
          '';
          # Each module needs the library, or a Neovim with a screen.
          doCheck = false;
        };
      });
    };
}
