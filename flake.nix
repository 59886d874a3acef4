{
  description = "Which coding-agent sessions live, what they do, and which one waits for you";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs =
    { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      forEach = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (nixpkgs.lib.importTOML ./Cargo.toml).workspace.package;
    in
    {
      packages = forEach (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "jig-session";
          inherit (manifest) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package" "jig-session" ];
          buildFeatures = [ "fleet" ];
          # The tests drive tmux, strace and real agents: `cargo xtask test` runs them.
          doCheck = false;
          meta = {
            description = "Which coding-agent sessions live, what they do, and which one waits for you";
            homepage = manifest.repository;
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "jig-session";
          };
        };
      });
    };
}
