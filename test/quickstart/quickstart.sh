#!/usr/bin/env bash
# The steps of docs/quickstart.md: quickstart.sh cluster | sample | rollout | install | clean; all is all but the last.
# cluster, install and clean need Docker and kind. The test of this folder runs the others, with a git server of its own
# in place of the Pod:
#   QUICKSTART_GIT  a shell in which the repository is a folder
#   QUICKSTART_DIR  that folder
#   QUICKSTART_URL  where Argo CD finds the repository
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly argocd=v3.5.7 cluster=stepgate-quickstart sample=docs/examples/guestbook.yaml
readonly url=git://git.quickstart/guestbook.git
readonly wait_for=180 # seconds

# need ends the script where one of the programs is missing, before anything was changed.
need() {
  local program
  for program; do
    command -v "$program" >/dev/null || {
      echo "quickstart: $program is missing: install it. docs/quickstart.md says what you need" >&2
      exit 2
    }
  done
}

create_cluster() {
  kind create cluster --name "$cluster"
  kubectl create namespace argocd
  kubectl apply --server-side --namespace argocd \
    -f "https://raw.githubusercontent.com/argoproj/argo-cd/$argocd/manifests/install.yaml"
  kubectl patch configmap argocd-cmd-params-cm --namespace argocd --type merge \
    -p '{"data":{"applicationsetcontroller.enable.progressive.syncs":"true"}}'
  kubectl rollout restart deployment/argocd-applicationset-controller --namespace argocd
  kubectl create namespace quickstart
  kubectl apply -f test/quickstart/git.yaml
  for workload in deployment/argocd-applicationset-controller deployment/argocd-repo-server deployment/argocd-redis \
    statefulset/argocd-application-controller; do
    kubectl rollout status "$workload" --namespace argocd --timeout 5m
  done
  kubectl rollout status deployment/git --namespace quickstart --timeout 5m
}

# commit changes all three Applications by one commit, and prints its hash.
commit() {
  ${QUICKSTART_GIT:-kubectl exec --stdin --namespace quickstart deployment/git -- sh} <<COMMIT
set -eu
work=\$(mktemp -d)
git clone --quiet "${QUICKSTART_DIR:-/tmp/git/guestbook.git}" "\$work" 2>/dev/null
cd "\$work"
git checkout --quiet -B main
for env in dev qa prod; do
  mkdir -p "envs/\$env"
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: guestbook-%s}\ndata: {changed: "%s"}\n' \
    "\$env" "\$(date +%s%N)" >"envs/\$env/configmap.yaml"
done
git add .
git -c user.name=quickstart -c user.email=quickstart@example.com commit --quiet --message 'a change'
git push --quiet origin main
git rev-parse HEAD
COMMIT
}

# applications prints for each Application what it was compared with, how it is, and what it last synced to.
readonly applications=(kubectl get applications --namespace argocd --no-headers -o 'custom-columns=NAME:.metadata.name,'\
'COMPARED:.status.sync.revision,SYNC:.status.sync.status,HEALTH:.status.health.status,'\
'PHASE:.status.operationState.phase,SYNCED:.status.operationState.syncResult.revision')

# complete says that all three Applications are at a commit.
complete() {
  local at
  at=$("${applications[@]}" | awk -v r="$1" '$2 == r && $3 == "Synced" && $4 == "Healthy" && $5 == "Succeeded" && $6 == r')
  [ "$(grep -c . <<<"$at")" = 3 ]
}

# within waits some seconds until a command succeeds.
within() {
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}

# await waits until all three Applications are at a commit, and else says where to look.
await() {
  within "$wait_for" complete "$1" && return
  echo "not all Applications are at ${1:0:7} after $wait_for seconds: stepgate get guestbook -n argocd says for whom they wait" >&2
  return 1
}

refresh() { kubectl annotate applications "$@" --namespace argocd --overwrite argocd.argoproj.io/refresh=normal >/dev/null; }

create_sample() {
  local revision
  revision=$(commit)
  sed "s|$url|${QUICKSTART_URL:-$url}|" "$sample" | kubectl apply -f -
  await "$revision"
  echo "all three Applications are at ${revision:0:7}"
}

# roll_out lets a commit land that changes all three Applications, and tells Argo CD about prod first, as its polls or a
# webhook of Git may. It prints the order in which the syncs began.
roll_out() {
  local revision log
  log=$(mktemp)
  "${applications[@]}" --watch >"$log" &
  trap "kill $!; rm -f '$log'" EXIT
  revision=$(commit)
  echo "commit ${revision:0:7} lands, and Argo CD hears about prod first"
  refresh guestbook-prod
  within 10 complete "$revision" || refresh guestbook-dev guestbook-qa
  await "$revision"
  local order
  order=$(awk -v r="$revision" '$6 == r && !seen[$1]++ {print $1}' "$log")
  awk '{print "  " NR ". sync starts: " $1}' <<<"$order"
  if [ "$order" = $'guestbook-dev\nguestbook-qa\nguestbook-prod' ]; then
    echo "IN ORDER"
  else
    echo "OUT OF ORDER"
  fi
}

install_stepgate() {
  local version image
  version=v$(sed -n 's/^version: //p' charts/stepgate/Chart.yaml)
  image=ghcr.io/stepgate/stepgate:$version
  docker build --build-arg "VERSION=$version" -t "$image" .
  kind load docker-image "$image" --name "$cluster"
  helm install stepgate ./charts/stepgate --namespace stepgate --create-namespace --wait --set config.mode=enforce
}

case "${1:-}" in
cluster) need docker kind kubectl && create_cluster ;;
sample) need kubectl && create_sample ;;
rollout) need kubectl && roll_out ;;
install) need docker kind helm && install_stepgate ;;
all)
  need docker kind kubectl helm
  for step in cluster sample rollout install rollout; do test/quickstart/quickstart.sh "$step"; done
  ;;
clean) need kind && kind delete cluster --name "$cluster" ;;
*)
  echo "usage: $0 cluster | sample | rollout | install | clean | all" >&2
  exit 2
  ;;
esac
