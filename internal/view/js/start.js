document.documentElement.classList.add("js");
switchesOfAll();
linkBack();
({ list: listPage, compare: comparePage, wait: waitPage })[document.body.dataset.page]();
